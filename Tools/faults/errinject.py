#!/usr/bin/env python3
"""Injects an error, or a short transfer, into the n-th system call on the store, for every n.

    errinject.py --run 'store {dir} workload' --verify 'store {dir} verify {ack}' --mode both
        --set all --errors ENOSPC,EIO,EMFILE,EINTR,short,short=1,error-after=EIO

--mode once faults one call, persist each call from there on. The run then either absorbs the error,
reports it (an exit status other than 0, or a line that --err-pattern finds), crashes or hangs.
EINTR and short transfers are to be absorbed. `error-after=EIO` does the call and then reports a
failure, as a file system over a network may.
"""

import json
import re
import sys

from faultlib import Point, Stopwatch, build, end_of, in_parallel, parser, print_table, probe

WRITES = "write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile"
# The calls that an error may come from; the others may come from every call of --set.
INTERRUPTED = "open,openat,write,pwrite64,writev,pwritev,fsync,fdatasync,ftruncate,fallocate"
APPLIES = {
    "EMFILE": "open,openat,openat2,creat,mmap",
    "EMLINK": "link,linkat,rename,renameat,renameat2,mkdir,mkdirat",
    "ENOSPC": WRITES + ",open,openat,creat,fsync,fdatasync,rename,renameat,renameat2,link,linkat,"
    "mkdir,mkdirat,symlink,symlinkat,ftruncate,fallocate,mmap,fsetxattr,setxattr,close",
}


def arguments():
    found = parser(__doc__)
    found.add_argument("--errors", default="ENOSPC,EIO,EMFILE,EINTR,short")
    found.add_argument("--mode", default="once", choices=["once", "persist", "both"])
    found.add_argument("--err-pattern", default=r"^ERR ", metavar="REGEX")
    return found.parse_args()


def calls_for(error, chosen):
    """Returns the calls that an error is injected into, as a set for the engine."""
    reads = chosen in ("all", "read")
    if error.startswith("short"):
        return WRITES + (",read,pread64,readv,preadv" if reads else "")
    if chosen not in ("mut", "all"):
        return chosen
    if error == "EINTR":
        return INTERRUPTED + (",read,pread64,readv,preadv,flock,close" if reads else "")
    return APPLIES.get(error, chosen)


def modes_for(error, mode):
    """Returns the modes in which an error makes sense: transient ones do not last."""
    if mode == "both":
        return ["once"] if error.startswith("short") or error == "EINTR" else ["once", "persist"]
    return [mode]


def kind_of(status, has_fault, output, pattern):
    """Returns what became of a run."""
    kind = end_of(status, has_fault)
    return "reported" if kind == "ok" and re.search(pattern, output, re.M) else kind


class Injection:
    """One error in one mode, at all points."""

    def __init__(self, options, error, mode):
        self.options, self.error, self.mode = options, error, mode
        self.end = None
        is_plain = error.startswith(("short", "error-after"))
        self.flags = [
            "--set", calls_for(error, options.set), "--action",
            error if is_plain else "error=" + error,
            *(["--count", "0"] if mode == "persist" else [])]

    def run_at(self, number):
        """Faults one point; returns what came of it, or None when the run has no such point."""
        if self.end is not None and number > self.end:
            return None
        point = Point(self.options, number)
        status, output, counts = point.run(self.options.run, [*self.flags, "--at", str(number)])
        has_fault = int(counts.get("hit", 0)) > 0
        if status == 0 and not has_fault:
            if int(counts.get("points", 0)) < number:
                self.end = min(self.end or number, number)
            point.remove()
            return None
        with open(point.ack, encoding="utf-8", errors="replace") as file:
            kind = kind_of(status, has_fault, file.read(), self.options.err_pattern)
        verified, text = point.verify()
        is_transient = self.error.startswith("short") or self.error == "EINTR"
        bad = verified != 0 or kind not in ("ok", "reported") or (
            is_transient and kind != "ok")
        point.remove(is_kept=bad)
        return {
            "error": self.error, "mode": self.mode, "k": number, "call": counts.get("call", ""),
            "path": counts.get("path", ""), "kind": kind, "rc": status, "verified": verified,
            "out": text[-300:], "bad": bad, "output": output[-200:]}


def print_results(options, results):
    rows = {}
    for result in results:
        name = result["error"] + ("*" if result["mode"] == "persist" else "")
        for call in (result["call"], "= all"):
            row = rows.setdefault(
                f"{name} {call}",
                dict.fromkeys(("points", "ok", "reported", "failed", "crash", "hang", "broken"), 0))
            row["points"] += 1
            row[result["kind"]] += 1
            row["broken"] += result["verified"] != 0
    print_table(
        ["error call", "points", "absorbed", "reported", "failed without it", "crash", "hang",
         "verify failed"],
        [[name, *rows[name].values()] for name in sorted(rows)])
    for result in [result for result in results if result["bad"]][:options.show]:
        print(f"FAIL {result['error']} {result['mode']} k={result['k']} {result['call']} "
              f"{result['path']}: run {result['kind']} rc={result['rc']}, "
              f"verify rc={result['verified']} {result['out'][-200:]} {result['output'][-200:]}")


def main():
    options, watch, results = arguments(), Stopwatch(), []
    build()
    total = probe(options)
    if total is None:
        return 2
    for error in options.errors.split(","):
        for mode in modes_for(error, options.mode):
            injection = Injection(options, error, mode)
            places = range(1, min(options.max_points, total * 3 + 10), options.stride)
            results += filter(None, in_parallel(injection.run_at, places, options.jobs))
    print_results(options, results)
    failed = sum(result["bad"] for result in results)
    print(f"(* = every call from k on fails) injected {len(results)}, failures {failed}; {watch}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
