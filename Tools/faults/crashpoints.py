#!/usr/bin/env python3
"""Kills the workload at every system call that changes something below the store.

    crashpoints.py --run 'store {dir} workload' --verify 'store {dir} verify {ack}' --when all

--when says whether before the call, after it, in the middle of a write (as Linux does between two
pages), or all of these. With --recover and --recover-points the command that recovers the store is
killed, too, at some of its calls after each kill of the workload.
"""

import json
import random
import shutil
import sys

from faultlib import Point, Stopwatch, build, copy_tree, in_parallel, parser, print_table, probe
from faultlib import remove_tree

ACTIONS = {
    "before": ["kill"], "after": ["kill-after"], "mid": ["kill-mid"],
    "all": ["kill", "kill-after", "kill-mid", "kill-mid=1"]}


def arguments():
    found = parser(__doc__)
    found.add_argument("--when", default="before", choices=ACTIONS)
    found.add_argument("--recover", metavar="COMMAND", help="opens the store again")
    found.add_argument("--recover-points", type=int, default=0, metavar="N")
    return found.parse_args()


def kill_recovery(options, point, number, action):
    """Kills the recovery at some of its calls; returns what each verification found."""
    saved = point.base + ".saved"
    copy_tree(point.base, saved)
    with open(point.ack, "rb") as file:
        promises = file.read()

    def restore():
        remove_tree(point.base)
        copy_tree(saved, point.base)
        write_promises()

    def write_promises():
        with open(point.ack, "wb") as file:
            file.write(promises)

    source, found = random.Random(options.seed * 1_000_003 + number), []
    for _ in range(options.recover_points):
        restore()
        place = source.randint(1, 40)
        _, _, counts = point.run(
            options.recover, ["--set", options.set, "--at", str(place), "--action", action])
        # What the recovery printed promises nothing.
        write_promises()
        if int(counts.get("hit", 0)):
            status, output = point.verify()
            found.append((place, status, output[-300:]))
    restore()
    shutil.rmtree(saved)
    return found


def kill_at(options, number, action):
    """Kills the workload once; returns what came of it."""
    point = Point(options, number)
    status, _, counts = point.run(
        options.run, ["--set", options.set, "--at", str(number), "--action", action])
    found = {
        "k": number, "action": action, "hit": int(counts.get("hit", 0)), "rc": status,
        "call": counts.get("call", ""), "path": counts.get("path", ""), "recovery": []}
    if found["hit"] and options.recover:
        found["recovery"] = kill_recovery(options, point, number, action)
    found["verified"], output = point.verify()
    found["out"] = output[-400:]
    point.remove(is_kept=found["verified"] != 0)
    return found


def main():
    options, watch = arguments(), Stopwatch()
    build()
    total = probe(options)
    if total is None:
        return 2
    points = [
        (number, action)
        for number in range(1, min(total + 1, options.max_points) + 1, options.stride)
        for action in ACTIONS[options.when]]
    results = list(in_parallel(lambda point: kill_at(options, *point), points, options.jobs))
    hit = [result for result in results if result["hit"]]
    bad = [result for result in results
           if (result["verified"] if result["hit"] else result["rc"]) != 0]
    second = [recovery for result in results for recovery in result["recovery"]]
    bad_second = [recovery for recovery in second if recovery[1] != 0]
    calls = {}
    for result in hit:
        count = calls.setdefault(result["call"], [0, 0])
        count[0] += 1
        count[1] += result["verified"] != 0
    print_table(["call", "points", "failed"], [[name, *calls[name]] for name in sorted(calls)])
    for result in bad[:options.show]:
        print(f"FAIL k={result['k']} {result['action']} at {result['call']} {result['path']}: "
              f"run {result['rc']}, rc={result['verified']} {result['out'][-200:]}")
    for place, status, output in bad_second[:options.show]:
        print(f"FAIL in recovery at its call {place}: rc={status} {output[-200:]}")
    print(f"crash points {len(hit)}, failures {len(bad)}; double crashes {len(second)}, "
          f"failures {len(bad_second)}; {watch}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"hit": len(hit), "recovery": len(second), "bad": bad}, file)
    return 1 if bad or bad_second else 0


if __name__ == "__main__":
    sys.exit(main())
