#!/usr/bin/env python3
"""Damages one file, such as a journal, at every byte.

    torntail.py --setup 'store {dir} workload > {ack}' --file journal
        --verify 'store {dir} check {ack}'

The file is cut there, one bit is flipped, the rest is zeroed, overwritten with random bytes, or
with its own beginning. The verification exits with 0 if the store is as promised.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile

from faultlib import Stopwatch, add_common_options, copy_tree, fill_in, in_parallel, print_table
from faultlib import run_shell

MODES = ("cut", "flip", "zero", "garbage", "repeat")


def arguments():
    found = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--setup", "--file", "--verify"):
        found.add_argument(name, required=True)
    found.add_argument("--modes", default=",".join(MODES))
    found.add_argument("--step", type=int, default=1, help="try each n-th byte only")
    add_common_options(found)
    return found.parse_args()


def damaged(content, mode, place, source):
    """Returns the content with a damage from a byte on."""
    rest = len(content) - place
    if mode == "flip":
        flipped = bytes([content[place] ^ 1 << source.randrange(8)])
        return content[:place] + flipped + content[place + 1:]
    ends = {
        "cut": b"", "zero": bytes(rest), "garbage": source.randbytes(rest),
        "repeat": content[:rest]}
    return content[:place] + ends[mode]


def main():
    options, watch = arguments(), Stopwatch()
    work = tempfile.mkdtemp(prefix="torn.", dir=options.workdir)
    store, ack = f"{work}/src", f"{work}/ack"
    status, output = run_shell(fill_in(options.setup, dir=store, ack=ack), 60)
    if status:
        raise SystemExit(f"the setup failed with {status}: {output}")
    with open(os.path.join(store, options.file), "rb") as file:
        content = file.read()

    def try_one(job):
        mode, place = job
        source = random.Random(f"{options.seed}{mode}{place}")
        copy = f"{work}/{mode}{place}"
        copy_tree(store, copy)
        path = os.path.join(copy, options.file)
        os.unlink(path)
        with open(path, "wb") as file:
            file.write(damaged(content, mode, place, source))
        status, output = run_shell(
            fill_in(options.verify, dir=copy, ack=ack, n=place), options.timeout)
        shutil.rmtree(copy)
        return mode, place, status, output.strip()[-160:]

    jobs = [(mode, place) for mode in options.modes.split(",")
            for place in range(0, len(content), options.step)]
    rows, bad = {}, []
    for result in in_parallel(try_one, jobs, options.jobs):
        mode, _, status, _ = result
        row = rows.setdefault(mode, [0, 0, 0])
        row[0] += 1
        row[1] += status != 0
        row[2] += status is None or status < 0
        if status != 0:
            bad.append(result)
    print_table(
        ["mode", "offsets", "failed", "of these crash/hang"],
        [[mode, *row] for mode, row in rows.items()])
    for mode, place, status, output in bad[:options.show]:
        print(f"FAIL {mode} at {place}: rc={status} {output}")
    print(f"{options.file}: {len(content)} bytes, {len(jobs)} damages, failures {len(bad)}; "
          f"{watch}")
    shutil.rmtree(work, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
