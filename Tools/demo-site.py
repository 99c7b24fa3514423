"""Copies a sample of the files of this machine into a folder, as the site of Tools/demo.

usage: demo-site.py SITE PATHS

Copies keep their times: the server sends them as Last-Modified, from which the cache derives how long a
file is fresh. With new times it would have to validate every file in the second fetch.

Writes the percent-encoded path of each file to PATHS, one a line, and a summary to standard output.
"""

import os
import re
import shutil
import stat
import sys
from urllib.parse import quote

WANTED = 4000
LEAST = 2000
LARGEST = 16 << 20
ROOTS = ["/usr/share/doc", "/usr/include", "/usr/share/man", "/usr/share", "/usr/lib"]
PLAIN = re.compile(rb"[A-Za-z0-9._/~-]*")


def is_utf8(name):
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def candidates(root):
    """Yields the readable regular files below a folder, links left out, in a stable order."""
    for folder, folders, names in os.walk(os.fsencode(root)):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            # `fetch --output-dir` keeps these encoded, so plain diff would not find the file; and
            # http.server serves no name that is not UTF-8.
            if re.search(rb"[%?\x00-\x1f\x7f]", path) or not is_utf8(path):
                continue
            info = os.lstat(path)
            if stat.S_ISREG(info.st_mode) and info.st_size <= LARGEST and os.access(path, os.R_OK):
                yield path


def sample(paths):
    """Picks what needs percent-encoding, up to a quarter, and the rest evenly."""
    odd = [path for path in paths if not PLAIN.fullmatch(path)][: WANTED // 4]
    chosen = set(odd)
    rest = [path for path in paths if path not in chosen]
    step = max(1.0, len(rest) / (WANTED - len(odd)))
    chosen.update(rest[int(index * step)] for index in range(int(len(rest) / step)))
    return sorted(chosen)


def main(site, list_path):
    paths, used = [], []
    for index, root in enumerate(ROOTS):
        # The first two always: headers bring names with a plus sign.
        if index >= 2 and len(paths) >= WANTED:
            break
        known = set(paths)
        paths += [path for path in candidates(root) if path not in known]
        used.append(root)
    if len(paths) < LEAST:
        sys.exit(f"demo: only {len(paths)} files below {' '.join(ROOTS)}; {LEAST} are needed")
    total = odd = count = 0
    with open(list_path, "w", encoding="ascii") as urls:
        # Names that few systems have: spaces, umlauts, an emoji, what means something in a URL.
        names = ["two words.txt", "Gr\u00fc\u00dfe \U0001f388.txt", "#&=;+.txt"]
        extra = [b"names/" + name.encode() for name in names]
        chosen = [(path, path.lstrip(b"/")) for path in sample(paths)]
        for source, target in chosen + list(zip([paths[0]] * len(extra), extra)):
            place = os.path.join(os.fsencode(site), target)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copyfile(source, place)
            info = os.stat(source)
            os.utime(place, ns=(info.st_atime_ns, info.st_mtime_ns))
            total += os.path.getsize(place)
            odd += PLAIN.fullmatch(target) is None
            count += 1
            urls.write(quote(target) + "\n")
    print(f"{count} {total} {odd} {' '.join(used)}")


main(sys.argv[1], sys.argv[2])
