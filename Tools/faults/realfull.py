#!/usr/bin/env python3
"""Fills real file systems up, leaves some KiB or inodes, and runs the workload there. Needs root.

    realfull.py --fs ext4 --run 'store {dir} workload' --verify 'store {dir} verify {ack}'
        --to 400 --step 20

The run must neither crash nor hang. The promises are verified while the file system is full, when
the verification may miss something, but must not crash, hang or read something wrong, and when
there is room again, when they must hold. With --inodes, inodes are what is scarce; only tmpfs can be
given more of them afterwards.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from faultlib import Stopwatch, end_of, fill_in, parser, print_table, run_shell

# How a file system is made, and the size of its image.
KINDS = {
    "ext4": ("mkfs.ext4 -q -F -m 0 -N {inodes} {image}", 8 << 20),
    "xfs": ("mkfs.xfs -q -f {image}", 320 << 20),
    "btrfs": ("mkfs.btrfs -q -f -M {image}", 32 << 20),
}


def arguments():
    found = parser(__doc__)
    found.add_argument("--fs", default="tmpfs", choices=["tmpfs", *KINDS])
    found.add_argument("--from", dest="first", type=int, default=0)
    found.add_argument("--to", dest="last", type=int, default=400)
    found.add_argument("--step", type=int, default=20)
    found.add_argument("--inodes", action="store_true")
    return found.parse_args()


def mount(options, work, left):
    """Mounts a new file system; returns where."""
    folder, image = f"{work}/m", f"{work}/img"
    if options.fs == "tmpfs":
        inodes = left + 2 if options.inodes else 100_000
        subprocess.check_call(
            ["mount", "-t", "tmpfs", "-o", f"size=8M,nr_inodes={inodes}", "tmpfs", folder])
        return folder
    command, size = KINDS[options.fs]
    with open(image, "wb") as file:
        file.truncate(size)
    # mkfs.ext4 itself needs twelve, and rounds to eight.
    inodes = max(16, left + 12) if options.inodes else 4096
    subprocess.check_call(fill_in(command, image=image, inodes=inodes), shell=True)
    subprocess.check_call(["mount", "-o", "loop", image, folder])
    return folder


def sync(folder):
    """Writes everything out, as far as there is room."""
    subprocess.call(["sync", "-f", folder], stderr=subprocess.DEVNULL)


def fill_up(folder, left):
    """Fills a file system, and then gives back some KiB."""
    with open(f"{folder}/reserve", "wb") as file:
        file.write(os.urandom(left * 1024))
    sync(folder)
    filler = os.open(f"{folder}/filler", os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(filler, bytes(4096)) == 4096:
            pass
        os.fsync(filler)
    except OSError:
        pass
    os.close(filler)
    sync(folder)
    os.unlink(f"{folder}/reserve")
    sync(folder)


def make_room(options, folder):
    """Gives the file system its room back."""
    if os.path.exists(f"{folder}/filler"):
        os.unlink(f"{folder}/filler")
    if options.inodes and options.fs == "tmpfs":
        subprocess.call(["mount", "-o", "remount,nr_inodes=100000", folder])


def is_wrong(status, output):
    """Returns whether a verification did what it must not for want of room either."""
    return end_of(status) in ("hang", "crash") or re.search(r"wrong [1-9]", output) is not None


def try_one(options, work, left):
    """Runs the workload with so much left; returns a row of the table and whether it failed."""
    folder, ack = mount(options, work, left), f"{work}/ack"
    store = f"{folder}/s"
    try:
        if not options.inodes:
            fill_up(folder, left)
        with open(ack, "wb") as file:
            status, _ = run_shell(fill_in(options.run, dir=store, ack=ack), options.timeout, file)
        with open(ack, encoding="utf-8", errors="replace") as file:
            output = file.read()
        kind = end_of(status)
        if kind == "ok" and "ERR" in output:
            kind = "reported"
        verify = fill_in(options.verify, dir=store, ack=ack)
        full, full_output = run_shell(verify, options.timeout)
        make_room(options, folder)
        after, after_output = run_shell(verify, options.timeout)
    finally:
        subprocess.call(["umount", folder])
    # Only tmpfs gives inodes back: on another one the store stays without.
    has_room = not options.inodes or options.fs == "tmpfs"
    failed = (kind in ("hang", "crash") or is_wrong(full, full_output)
              or (after != 0 if has_room else is_wrong(after, after_output)))
    if failed:
        print(f"FAIL with {left} left: run {kind} rc={status}; after: {after} "
              f"{after_output.strip()[-160:]}; full: {full} {full_output.strip()[-120:]}")
    unit = "inodes" if options.inodes else "KiB"
    return [f"{left} {unit}", kind, output.count("ACK "), full, after], failed


def main():
    options, watch = arguments(), Stopwatch()
    work = tempfile.mkdtemp(prefix="full.", dir=options.workdir)
    os.mkdir(f"{work}/m")
    results = [
        try_one(options, work, left)
        for left in range(options.first, options.last + 1, options.step)]
    failed = sum(is_failed for _, is_failed in results)
    print_table(
        ["left on " + options.fs, "run", "acks", "verify while full", "verify after"],
        [row for row, _ in results])
    print(f"{options.fs}: {len(results)} runs, failures {failed}; {watch}")
    shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
