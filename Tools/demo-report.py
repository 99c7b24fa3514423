"""Prints what Tools/demo found out.

usage: demo-report.py SITE STATS DISK COLD WARM OFFLINE

SITE is the summary of demo-site.py, STATS the output of `offlinecache stats --json`, DISK the KiB of
the store as du counts them, the rest seconds.
"""

import json
import sys


def size(count):
    """Writes a number of bytes for people."""
    return f"{count / (1 << 20):,.1f} MiB"


def main(site, stats, disk, *times):
    count, total, odd, *roots = open(site, encoding="utf-8").read().split()
    statistics = json.load(open(stats, encoding="utf-8"))
    if statistics["entries"] != int(count) or statistics["logical_bytes"] != int(total):
        sys.exit(f"demo: the store counts {statistics}, the site has {count} files, {total} bytes")
    rows = [
        ("site", f"{count} files of {' '.join(roots)}"),
        ("", f"{odd} names need percent-encoding"),
        ("entries", f"{statistics['entries']}"),
        ("bytes", size(int(total))),
        ("saved", f"{size(statistics['shared_bytes'])} by content addressing"),
        ("on disk", f"{size(int(disk) * 1024)} (du)"),
    ]
    notes = ["from the server", "again", "server stopped, every body written to a file"]
    for name, seconds, note in zip(["cold", "warm", "offline"], times, notes):
        rate = int(int(count) / max(float(seconds), 0.01))
        rows.append((name, f"{seconds} s, {rate} a second ({note})"))
    rows.append(("compared", f"{count} files, every byte equal"))
    for name, text in rows:
        print(f"{name:<10}{text}")


main(*sys.argv[1:])
