#!/usr/bin/env python3
"""Damages copies of a store, one damage each, and then checks, reads, repairs, checks and reads.

    bitrot.py --setup 'store {dir} workload > {ack}' --scrub 'store {dir} scrub'
        --read 'store {dir} verify {ack}' --read-safe 'store {dir} safe {ack}'
        --repair 'store {dir} repair'

--scrub exits with another status than 0 if it finds damage. --read exits with 0 if every promise is
kept, --read-safe if nothing wrong is read (a miss is allowed): its failures must be 0 for a cache.
Links of the damages lead to files outside the store; one that is changed counts as an escape. To
root, a mode without permissions is no damage. The kinds are in damages.py and hostile.py.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

from damages import Target, read
from faultlib import Stopwatch, add_common_options, copy_tree, fill_in, in_parallel, print_table
from faultlib import remove_tree, run_shell
from hostile import DAMAGES

STEPS = ("scrub", "safe", "read", "repair", "scrub2", "safe2", "read2")


def arguments():
    found = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--setup", required=True, metavar="COMMAND", help="makes {dir} and {ack}")
    for name in ("--scrub", "--read", "--read-safe", "--repair"):
        found.add_argument(name, metavar="COMMAND")
    found.add_argument("--classes", metavar="KIND,...", help="these kinds of damage only")
    found.add_argument("--trials", type=int, default=20, help="of each kind")
    add_common_options(found)
    return found.parse_args()


def snapshot(folder):
    """Returns contents and modes of the files outside the store."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not name.startswith("moved"):
                found[path] = (read(path), os.stat(path).st_mode)
    return found


class Trials:
    """A store that is damaged again and again."""

    def __init__(self, options):
        self.options = options
        self.work = tempfile.mkdtemp(prefix="rot.", dir=options.workdir)
        self.store, self.ack = f"{self.work}/src", f"{self.work}/ack"
        status, output = run_shell(fill_in(options.setup, dir=self.store, ack=self.ack), 60)
        if status:
            raise SystemExit(f"the setup failed with {status}: {output}")
        repairs = bool(options.repair)
        self.steps = {
            "scrub": options.scrub, "safe": options.read_safe,
            "read": None if repairs else options.read, "repair": options.repair,
            "scrub2": options.scrub if repairs else None,
            "safe2": options.read_safe if repairs else None,
            "read2": options.read if repairs else None}

    def run(self, command, store):
        """Runs a command on a store; returns its status, or hang or crash, and its output."""
        status, output = run_shell(
            fill_in(command, dir=store, ack=self.ack), self.options.timeout)
        return "hang" if status is None else "crash" if status < 0 else status, output

    def check_undamaged(self):
        """Ends the program if a command already fails on the store as it is."""
        for command in filter(None, (
                self.options.scrub, self.options.read, self.options.read_safe)):
            copy = f"{self.work}/copy"
            copy_tree(self.store, copy)
            status, output = self.run(command, copy)
            remove_tree(copy)
            if status != 0:
                raise SystemExit(f"undamaged store: {command} -> {status} {output}")

    def try_one(self, job):
        """Damages one copy; returns what the commands made of it."""
        kind, number = job
        source = random.Random(f"{self.options.seed}/{kind}/{number}")
        base = f"{self.work}/{kind}.{number}"
        store, outside = f"{base}/s", f"{base}/out"
        os.makedirs(outside)
        copy_tree(self.store, store)
        for name in ("canary", "bodies", "x"):
            with open(f"{outside}/{name}", "w", encoding="utf-8") as file:
                file.write("precious " + name)
        before = snapshot(outside)
        target = Target(store, outside, source)
        damaged = next(filter(None, (DAMAGES[kind](target) for _ in range(8))), None)
        found = {"kind": kind, "number": number, "target": None}
        if damaged:
            found["target"] = os.path.relpath(damaged, store)
            for step, command in self.steps.items():
                if command:
                    found[step], output = self.run(command, store)
                    found[step + "_out"] = output[-200:]
            found["escape"] = snapshot(outside) != before
        remove_tree(base)
        # Folders that are deeper than a path may be long.
        subprocess.call(["rm", "-rf", base])
        return found


def is_broken(trial):
    """Returns whether a command crashed or hung."""
    return any(trial.get(step) in ("hang", "crash") for step in STEPS)


def is_wrong(trial):
    """Returns whether something wrong was read."""
    return any(trial.get(step) not in (None, 0, "crash", "hang") for step in ("safe", "safe2"))


def has_failed(trial):
    """Returns whether a trial broke a promise."""
    return (trial["escape"] or is_broken(trial) or is_wrong(trial)
            or trial.get("scrub2") not in (None, 0))


def row(name, trials, options):
    last_read = "read2" if options.repair else "read"

    def count(step, is_asked):
        return sum(trial.get(step) == 0 for trial in trials) if is_asked else "-"

    return [
        name, len(trials), sum(trial.get("scrub") not in (0, None) for trial in trials),
        sum(map(is_wrong, trials)), sum(map(is_broken, trials)),
        sum(trial["escape"] for trial in trials), count("repair", options.repair),
        count("scrub2", options.repair), count(last_read, options.read)]


def print_failures(trials, limit):
    for trial in list(filter(has_failed, trials))[:limit]:
        steps = "; ".join(
            f"{step}={trial[step]} {trial.get(step + '_out', '').strip()[-90:]}"
            for step in STEPS if trial.get(step) not in (None, 0))
        escaped = " ESCAPED" if trial["escape"] else ""
        print(f"FAIL {trial['kind']} #{trial['number']} {trial['target']}{escaped}: {steps}")


def main():
    options, watch = arguments(), Stopwatch()
    kinds = options.classes.split(",") if options.classes else sorted(DAMAGES)
    trials = Trials(options)
    trials.check_undamaged()
    jobs = [(kind, number) for kind in kinds for number in range(options.trials)]
    results = [trial for trial in in_parallel(trials.try_one, jobs, options.jobs)
               if trial["target"] is not None]
    rows = [row(kind, [trial for trial in results if trial["kind"] == kind], options)
            for kind in kinds]
    print_table(
        ["damage", "trials", "detected", "wrong reads", "crash/hang", "escapes", "repair ok",
         "clean after", "all data kept"],
        [*(cells for cells in rows if cells[1]), row("= all", results, options)])
    print_failures(results, options.show)
    unseen = [f"{trial['kind']}:{trial['target']}" for trial in results if trial.get("scrub") == 0]
    if unseen:
        print("undetected: " + ", ".join(unseen[:12]) + (" ..." if len(unseen) > 12 else ""))
    failed = sum(map(has_failed, results))
    print(f"trials {len(results)}, failures {failed}, undetected {len(unseen)}; {watch}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file)
    remove_tree(trials.work)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
