"""What the honest origin has: every answer can be computed again, and so be verified."""

import functools
import random
import time

# How long a page of /changing stays as it is, and how long it may be kept, in seconds.
PERIOD, LIFETIME = 3, 2
# What dates in whole seconds and a busy machine may add.
SLACK = 3
LANGUAGES = ("de", "en", "fr")
FIXED, CHANGING, VARYING = 3000, 40, 60
SIZES = (0, 1, 700, 4096, 20_000, 65_537, 300_000)
LARGE = 1 << 20


@functools.lru_cache(maxsize=512)
def body(path, version=0):
    """Returns the body of a version of a page: its name, and bytes that only it has."""
    source = random.Random(f"{path}/{version}")
    # A large page now and then, as in a real cache.
    size = LARGE if source.random() < 0.01 else source.choice(SIZES)
    start = f"{path} {version}\n".encode()
    return start + source.randbytes(size)


def tag(path, version=0):
    return f'"{path.strip("/").replace("/", "-")}-{version}"'


def version_at(moment):
    """Returns the version of the pages of /changing at a time."""
    return int(moment // PERIOD)


def oldest_version(moment):
    """Returns the oldest version of them that may be served at a time."""
    return version_at(moment - LIFETIME - SLACK)


def version_in(content):
    """Returns the version that a body names, or None."""
    words = content.split(b"\n", 1)[0].split()
    return int(words[1]) if len(words) == 2 and words[1].isdigit() else None


def now():
    return time.time()
