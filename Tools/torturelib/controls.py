"""Planted bugs: each has to be found, or the parts that find nothing may be blind."""

import time

from .results import Control

# The bug, the script, and its arguments; the workload runs with the bug, what verifies without.
CONTROLS = (
    ("nofsync", "powerloss", "full", "workload 9", ["--profile", "posix", "--states", "150"]),
    ("nodirsync", "powerloss", "full", "workload 9", ["--profile", "posix", "--states", "150"]),
    ("nodatasync", "powerloss", "full", "workload 9", ["--profile", "ext4", "--states", "150"]),
    ("ackearly", "crashpoints", "process", "workload 9", ["--when", "before"]),
    ("inplace", "crashpoints", "process", "workload 20", ["--when", "before"]),
    ("tornblind", "crashpoints", "process", "workload 9", ["--when", "mid"]),
    ("ignoreerr", "errinject", "process", "workload 9", ["--errors", "ENOSPC", "--set", "mut"]),
    ("nointr", "errinject", "process", "workload 9", ["--errors", "EINTR", "--set", "mut"]),
    ("shortok", "errinject", "process", "workload 9", ["--errors", "short", "--set", "mut"]),
    ("nolock", "multikill", "process", "workload 12 {w}",
     ["--workers", "4", "--rounds", "20", "--fresh"]),
    ("trap", "multikill", "process", "workload 12 {w}", ["--workers", "2", "--rounds", "2"]),
    ("nocrc", "bitrot", "process", "workload 12", ["--classes", "bitflip,garbage"]),
    ("followlinks", "bitrot", "process", "workload 12", ["--classes", "sym_dir"]),
    ("badrepair", "bitrot", "process", "workload 12", ["--classes", "garbage,delete"]),
)


def arguments(kit, bug, tool, level, words, more, seed):
    """Returns the arguments of a script for a planted bug."""
    run = kit.store(level, words, bug)
    if tool == "bitrot":
        # What reads has the bug here; the store was made without it.
        found = ["--setup", kit.store(level, words) + " > {ack}", "--trials", "12",
                 "--read-safe", kit.store("process", "safe {ack}", bug), "--seed", str(seed)]
        if bug in ("badrepair", "followlinks"):
            found += ["--scrub", kit.store("process", "scrub"),
                      "--repair", kit.store("process", "repair", bug)]
        return found + more
    if tool == "multikill":
        run = run.replace("env ", "env STOREPROBE_PREFIX=w{w}- ", 1)
    if bug == "inplace":
        # It changes files, which a store that settles later does not write here.
        run = run.replace("env ", "env -u STOREPROBE_SETTLING ", 1)
    # A killed process leaves half a record; the next one to write has the bug, too.
    verifier = bug if bug == "tornblind" else ""
    seeded = ["--seed", str(seed)] if tool in ("powerloss", "multikill") else []
    check = kit.store("process", "verify {ack}", verifier, restarted=tool == "powerloss")
    return ["--run", run, "--verify", check, *seeded, *more]


def run(kit, options):
    for bug, tool, level, words, more in CONTROLS:
        start = time.monotonic()
        given = arguments(kit, bug, tool, level, words, more, options.seed)
        if tool == "bitrot":
            row = kit.bitrot(given)
            tried, found = row.tried, row.failed
        else:
            tried, lost, wrong, *_ = getattr(kit, tool)(given)
            found = lost + wrong
        yield Control(bug, f"{tool}, {level}", tried, found, time.monotonic() - start)
