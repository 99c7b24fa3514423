"""What went wrong, and how often what was tried."""

import collections
import sys
import threading

# After so many, nothing new is learned.
ENOUGH = 40
SHOWN = 3


class Findings:
    """Collects findings by kind; shows the first ones at once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts, self.tried = collections.Counter(), collections.Counter()
        # Set when everything is being ended, which is nobody's fault.
        self.is_closed = False

    def add(self, kind, text):
        with self.lock:
            if self.is_closed:
                return
            self.counts[kind] += 1
            count = self.counts[kind]
        if count <= SHOWN:
            print(f"soak: FINDING {kind}: {text}", file=sys.stderr, flush=True)

    def count(self, kind):
        """Counts something that was tried."""
        with self.lock:
            self.tried[kind] += 1

    @property
    def total(self):
        return sum(self.counts.values())

    @property
    def is_enough(self):
        """Whether to go on teaches nothing."""
        return self.total >= ENOUGH
