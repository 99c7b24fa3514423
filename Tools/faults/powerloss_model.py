#!/usr/bin/env python3
"""Cuts the power in a model, as ALICE does (Pillai et al., OSDI 2014).

    powerloss_model.py --run 'store {dir} workload' --verify 'store {dir} verify {ack}'
        --profile ext4

One run is recorded. The states that a power cut may leave by the model of persistence are made as
folders, and each is verified with the promises up to the cut. With --fault error=EIO there is a run
for each sync that fails: data that was pending then is never durable. The profiles are explained in
persistence.py. Writes through a mapping of memory are not seen.
"""

import hashlib
import itertools
import json
import os
import random
import shutil
import sys
import tempfile

from faultlib import Point, Stopwatch, build, copy_tree, end_of, fill_in, in_parallel, parser
from faultlib import print_table, run_shell
from persistence import PROFILES, Cut, State, durability
from recorded import RecordedRun


def arguments():
    found = parser(__doc__)
    found.add_argument("--profile", default="posix", choices=PROFILES)
    found.add_argument("--subsets", type=int, default=3, help="random states for each cut")
    found.add_argument("--single", type=int, default=12, help="single events for each cut")
    found.add_argument("--states", type=int, default=20_000, help="at most, chosen at random")
    found.add_argument("--fault", metavar="ACTION", help="fault each sync in turn")
    return found.parse_args()


def record(options, number, failures):
    """Records a run; returns it with its calls, or None if the fault no longer hits anything."""
    point = Point(options, f"record{number}")
    run, folder = RecordedRun(point.base), point.ack + ".rec"
    fault = ["--set", "fsync,fdatasync", "--at", str(number), "--action", options.fault]
    status, output, counts = point.run(
        options.run, ["--record", folder, *(fault if options.fault else [])])
    has_fault = int(counts.get("hit", 0)) > 0
    if end_of(status, has_fault) not in ("ok", "reported"):
        failures.append(("run", number, status, output[-250:], "its end", []))
    with open(folder + "/ops.jsonl", encoding="utf-8", errors="surrogateescape") as file:
        calls = [json.loads(line) for line in file]
    with open(folder + "/data.bin", "rb") as file:
        run.follow(calls, file.read())
    shutil.rmtree(folder)
    point.remove()
    return (run, calls) if has_fault or not options.fault else None


class Search:
    """Verifies the states of all runs, each only once."""

    def __init__(self, options):
        self.options, self.source = options, random.Random(options.seed)
        self.seen, self.kinds, self.failures = set(), {}, []
        self.runs = self.cuts = self.tested = self.duplicates = 0

    def new_states(self, run):
        """Returns the states of a run that were not seen yet."""
        since = durability(run, self.options.profile)
        times = itertools.chain(
            (event.time for event in run.events), (sync[0] for sync in run.syncs),
            (promise[0] for promise in run.promises))
        found, cuts = [], sorted({time + 1 for time in times})
        self.cuts += len(cuts)
        for time in cuts:
            promises = b"".join(text for made, text in run.promises if made < time)
            cut = Cut(run, since, self.options.profile, time)
            for kind, chosen in cut.states(
                    self.source, self.options.subsets, self.options.single):
                key = State(run, chosen).digest() + hashlib.blake2b(
                    promises, digest_size=8).digest()
                if key in self.seen:
                    self.duplicates += 1
                    continue
                self.seen.add(key)
                found.append((kind, time, promises, chosen))
        if len(found) > self.options.states:
            found = sorted(
                self.source.sample(found, self.options.states), key=lambda state: state[1])
        return found

    def verify(self, run, state):
        """Makes a state and verifies it."""
        kind, time, promises, chosen = state
        folder = tempfile.mkdtemp(prefix="state.", dir=self.options.workdir)
        State(run, chosen).write(folder + "/r")
        with open(folder + "/ack", "wb") as file:
            file.write(promises)
        status, output = run_shell(
            fill_in(self.options.verify, dir=folder + "/r/s", ack=folder + "/ack"),
            self.options.timeout)
        if status != 0 and self.options.keep:
            os.makedirs(self.options.keep, exist_ok=True)
            kept = os.path.join(
                self.options.keep, f"{time}-{kind}-{os.path.basename(folder)}")
            copy_tree(folder, kept)
            State(run, chosen).write(kept + "/before")
        shutil.rmtree(folder, ignore_errors=True)
        return state, status, output.strip()[-250:]

    def try_run(self, run, calls):
        """Verifies the states of a run."""
        self.runs += 1
        if self.runs == 1:
            warnings = "".join("; WARNING " + warning for warning in sorted(run.warnings))
            print(f"{run.end} calls, {len(run.events)} events, {len(run.syncs)} syncs, "
                  f"{len(run.promises)} acks, profile {self.options.profile}{warnings}")
        for (kind, time, _, chosen), status, output in in_parallel(
                lambda state: self.verify(run, state), self.new_states(run), self.options.jobs):
            self.tested += 1
            count = self.kinds.setdefault(kind, [0, 0])
            count[0] += 1
            if status == 0:
                continue
            count[1] += 1
            last = calls[min(time, len(calls)) - 1] if calls else {"op": "?", "p": "?"}
            kept = {event for event, _ in chosen}
            lost = [str(event) for event in run.events if event.time < time and event not in kept]
            place = (last.get("p2") or last["p"]).replace(run.root, "")
            self.failures.append((kind, time, status, output, f"{last['op']} {place}", lost[:4]))


def main():
    options, watch = arguments(), Stopwatch()
    build()
    search = Search(options)
    for number in range(1, options.max_points + 1):
        found = record(options, number, search.failures)
        if not found:
            break
        search.try_run(*found)
        if not options.fault:
            break
    print_table(["crash state", "tested", "failed"],
                [[kind, *search.kinds[kind]] for kind in sorted(search.kinds)])
    for kind, time, status, output, last, lost in search.failures[:options.show]:
        print(f"FAIL {kind} after call {time} ({last}) rc={status} {output} | lost: {lost}")
    print(f"runs {search.runs}, crash positions {search.cuts}, distinct crash states "
          f"{search.tested} (+{search.duplicates} duplicates), failures {len(search.failures)}; "
          f"{watch}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"n": search.tested, "fails": search.failures}, file)
    return 1 if search.failures else 0


if __name__ == "__main__":
    sys.exit(main())
