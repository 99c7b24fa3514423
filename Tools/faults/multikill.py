#!/usr/bin/env python3
"""Runs several processes on one store and kills some at random system calls while the others go on.

    multikill.py --workers 4 --rounds 50 --run 'store {dir} workload {w}'
        --verify 'store {dir} verify {ack}'

{w} is the number of the worker, over all rounds. The store lives on from round to round, so that
damage adds up; --fresh begins with a new one each time. The promises of all workers of all rounds
are verified after each round. A worker must end with 0 or be killed: one that crashes, hangs or
reports an error fails its round, for nothing but kills is injected.
"""

import os
import random
import signal
import subprocess
import sys

from faultlib import FAULTRUN, Point, Stopwatch, build, end_of, fill_in, parser, signed


def arguments():
    found = parser(__doc__)
    found.add_argument("--workers", type=int, default=4)
    found.add_argument("--rounds", type=int, default=30)
    found.add_argument("--kill-share", type=float, default=0.5, help="of the workers")
    found.add_argument("--max-k", type=int, default=150, help="the last call that is killed at")
    found.add_argument("--fresh", action="store_true", help="a new store every round")
    return found.parse_args()


class Worker:
    """A process on the store, which dies at a random call or lives."""

    def __init__(self, options, point, place, number, source):
        self.files = f"{point.ack}.worker{place}"
        kill = []
        if source.random() < options.kill_share:
            kill = ["--at", str(source.randint(1, options.max_k)),
                    "--action", source.choice(["kill", "kill-after", "kill-mid"])]
        command = point.fill_in(fill_in(options.run, w=number))
        self.output = open(self.files + ".out", "wb")
        self.process = subprocess.Popen(
            [FAULTRUN, "--root", point.base, "--status", self.files, "--timeout",
             str(options.timeout), "--set", options.set, *kill, "--", "/bin/sh", "-c",
             "exec " + command],
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT)

    def wait(self, seconds):
        """Waits for the end; returns what it was, and the promises in whole lines."""
        try:
            status = signed(self.process.wait(seconds))
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait() and None
        self.output.close()
        hit = False
        if os.path.exists(self.files):
            with open(self.files, encoding="utf-8", errors="replace") as file:
                hit = "hit=0" not in file.read()
            os.unlink(self.files)
        with open(self.files + ".out", "rb") as file:
            text = file.read()
        os.unlink(self.files + ".out")
        is_killed = hit and status == -signal.SIGKILL
        return "killed" if is_killed else end_of(status, has_fault=False), text[:text.rfind(b"\n") + 1]


def main():
    options, watch = arguments(), Stopwatch()
    build()
    source = random.Random(options.seed)
    ends, promises, failed, number = {}, 0, 0, 0
    point = Point(options, "round0")
    for turn in range(options.rounds):
        if options.fresh and turn:
            point.remove()
            point = Point(options, f"round{turn}")
        workers = []
        for place in range(options.workers):
            workers.append(Worker(options, point, place, number, source))
            number += 1
        bad = []
        for place, worker in enumerate(workers):
            end, text = worker.wait(options.timeout + 5)
            ends[end] = ends.get(end, 0) + 1
            if end not in ("ok", "killed"):
                lines = text.decode(errors="replace").splitlines()
                errors = [line for line in lines if line.startswith("ERR ")] or lines[-1:]
                bad.append(f"worker {place}: {end}: {'; '.join(errors)}")
            promises += text.count(b"ACK ")
            with open(point.ack, "ab") as file:
                file.write(text)
        status, output = point.verify()
        if status != 0 or bad:
            failed += 1
            if failed <= options.show:
                reason = "; ".join(bad) or f"rc={status} {output[-220:]}"
                print(f"FAIL round {turn} (seed {options.seed}): {reason}")
            point.remove(is_kept=True)
            point = Point(options, f"after{turn}")
    point.remove()
    counts = ", ".join(f"{end} {count}" for end, count in sorted(ends.items()))
    print(f"rounds {options.rounds}, processes {number}: {counts}; acks {promises}; "
          f"failed rounds {failed}; {watch}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
