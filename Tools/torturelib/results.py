"""What was tried, and what came of it."""

import dataclasses

from faults.faultlib import table

HEAD = ("part", "level", "tried", "survived", "lost", "wrong", "detected", "seconds")


@dataclasses.dataclass
class Row:
    """One line of the table.

    `lost`: points after which something promised was gone. `wrong`: points after which something
    was read that was never stored, or a program crashed or hung, or touched what is not the store's.
    `detected`: where the part has something to report (an error, a damage), how often it was.
    `failed`: points that broke a promise of their part. Where losing is allowed, as after damage, a
    loss is none.
    """

    part: str
    level: str
    tried: int
    survived: int
    lost: int
    wrong: int
    failed: int
    detected: int | None = None
    seconds: float = 0.0
    group: str = ""
    command: str = ""

    def cells(self):
        detected = "" if self.detected is None else f"{self.detected:,}"
        return (
            self.part, self.level, f"{self.tried:,}", f"{self.survived:,}", f"{self.lost:,}",
            f"{self.wrong:,}", detected, f"{self.seconds:.0f}")


@dataclasses.dataclass
class Control:
    """A planted bug, and whether the tool that should find it has."""

    bug: str
    tool: str
    tried: int
    found: int
    seconds: float = 0.0


@dataclasses.dataclass
class Flips:
    """Single bits that were flipped in the files of a store, and what reads made of it."""

    system: str
    tried: int
    right: int = 0
    wrong: int = 0
    error: int = 0
    missing: int = 0
    detected: int | None = None


class Results:
    """All that a run has found."""

    def __init__(self):
        self.rows, self.controls, self.flips, self.skipped = [], [], [], []

    def totals(self):
        """Returns what was tried and what failed, by group."""
        found = {}
        for row in self.rows:
            tried, failed = found.get(row.group, (0, 0))
            found[row.group] = (tried + row.tried, failed + row.failed)
        return found

    def is_good(self):
        """Returns whether nothing failed and every planted bug was found."""
        return (
            not any(row.failed for row in self.rows)
            and all(control.found for control in self.controls)
            and not any(flips.wrong for flips in self.flips if flips.system == "OfflineCache"))

    def text(self):
        parts = [table(HEAD, [row.cells() for row in self.rows], 2)] if self.rows else []
        totals = [
            f"{group}: {tried:,} tried, {failed:,} failed; {bound(tried, failed)}"
            for group, (tried, failed) in self.totals().items()]
        if totals:
            parts.append("\n".join(totals))
        if self.flips:
            head = ("one bit flipped", "", "tried", "all right", "wrong, no error", "an error",
                    "missing, no error", "found by a check")
            parts.append(table(head, [
                (f.system, "", f.tried, f.right, f.wrong, f.error, f.missing,
                 "" if f.detected is None else f.detected) for f in self.flips], 2))
        if self.controls:
            head = ("planted bug", "found by", "tried", "broken promises")
            parts.append(table(head, [
                (c.bug, c.tool, c.tried, c.found or "NOT FOUND") for c in self.controls], 2))
        if self.skipped:
            parts.append("\n".join(f"left out: {reason}" for reason in self.skipped))
        return "\n\n".join(parts)

    def json(self):
        """Returns the same for machines."""
        return {
            "rows": [dataclasses.asdict(row) for row in self.rows],
            "totals": {group: {"tried": tried, "failed": failed}
                       for group, (tried, failed) in self.totals().items()},
            "flips": [dataclasses.asdict(flips) for flips in self.flips],
            "controls": [dataclasses.asdict(control) for control in self.controls],
            "skipped": self.skipped,
            "good": self.is_good(),
        }


def bound(tried, failed):
    """Returns what no failure in so many trials says: the rule of three."""
    if failed or not tried:
        return ""
    return f"0 of {tried:,} means less than {3 / tried:.2g} (95 %)"
