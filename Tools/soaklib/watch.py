"""Watches what a server takes: memory, descriptors, threads, and the journal of its store."""

import collections
import dataclasses
import os
import re
import threading
import time

from .neighbours import journal_bytes

MEGABYTE = 1 << 20
# What may come on top of what there was after the warm-up, when everybody rests.
MORE_DESCRIPTORS, MORE_THREADS = 16, 8
# Larger bodies stay open, up to so many (ClientOptions.memoryBytes); each may be open twice.
OPEN_BODIES = 2 * 128
MORE_MEMORY, MEMORY_FACTOR = 32 * MEGABYTE, 1.3


@dataclasses.dataclass
class Sample:
    """What a server takes at a moment."""

    memory: int
    bodies: int
    descriptors: int
    threads: int
    journal: int

    def __str__(self):
        return (f"{self.memory / MEGABYTE:.0f} MB, {self.descriptors} descriptors and "
                f"{self.bodies} bodies, {self.threads} threads, "
                f"journal {self.journal / MEGABYTE:.1f} MB")


def take(proxy):
    """Returns what a server takes now."""
    process, bodies, others = proxy.server.process.pid, 0, 0
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            target = os.readlink(f"/proc/{process}/fd/{name}")
        except FileNotFoundError:
            continue
        # One of an entry that was replaced or removed since lies below staging/, or is gone.
        is_body = target.removesuffix(" (deleted)").endswith(".body")
        bodies += is_body
        others += not is_body
    return Sample(
        proxy.server.memory(), bodies, others, len(os.listdir(f"/proc/{process}/task")),
        journal_bytes(proxy.store))


TCP_STATES = {"01": "established", "06": "waiting", "08": "closed by the peer", "0A": "listening"}


def descriptors(proxy):
    """Returns what the open descriptors of a server are, as text."""
    process, sockets = proxy.server.process.pid, {}
    with open(f"/proc/{process}/net/tcp", encoding="ascii") as table:
        for line in list(table)[1:]:
            words = line.split()
            side = "to a client" if int(words[1][-4:], 16) == proxy.port else "to the origin"
            sockets[words[9]] = f"{side}, {TCP_STATES.get(words[3], words[3])}"
    kinds = collections.Counter()
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            target = os.readlink(f"/proc/{process}/fd/{name}")
        except FileNotFoundError:
            continue
        socket = re.fullmatch(r"socket:\[(\d+)\]", target)
        kinds[sockets.get(socket[1], "socket without TCP") if socket
              else re.sub(r"[0-9a-f]{2,}|[0-9]", "#", target.removeprefix(proxy.store))] += 1
    return ", ".join(f"{count} x {kind}" for kind, count in kinds.most_common())


class Watch:
    """Takes samples of a server that is at work, and of one that rests."""

    def __init__(self, proxy, findings, journal_limit):
        self.proxy, self.findings, self.journal_limit = proxy, findings, journal_limit
        self.most, self.first, self.last = Sample(0, 0, 0, 0, 0), None, None
        self.ended = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while not self.ended.wait(1):
            try:
                now = take(self.proxy)
            except OSError:
                return
            for field in dataclasses.fields(Sample):
                value = max(getattr(now, field.name), getattr(self.most, field.name))
                setattr(self.most, field.name, value)
            if now.journal > self.journal_limit:
                self.findings.add(
                    f"journal ({self.proxy.role})",
                    f"{now.journal} bytes, allowed are {self.journal_limit}")

    def rest(self, seconds):
        """Returns a sample, as soon as connections are gone and nothing gets less any more."""
        deadline, least = time.monotonic() + seconds, None
        since = time.monotonic()
        while time.monotonic() < min(deadline, since + 5):
            now = take(self.proxy)
            size = now.descriptors, now.threads
            if least is None or size < least:
                since, least = time.monotonic(), size
            time.sleep(0.5)
        return take(self.proxy)

    def compare(self):
        """Adds findings for what has grown between the first and the last rest."""
        first, last = self.first, self.last
        for name, allowed in (
                ("memory", first.memory * MEMORY_FACTOR + MORE_MEMORY),
                ("bodies", OPEN_BODIES), ("descriptors", first.descriptors + MORE_DESCRIPTORS),
                ("threads", first.threads + MORE_THREADS)):
            value = getattr(last, name)
            self.findings.count("bounds")
            if value > allowed:
                what = f": {descriptors(self.proxy)}" if name == "descriptors" else ""
                self.findings.add(
                    f"{name} ({self.proxy.role})",
                    f"{value} at the end, {getattr(first, name)} after the warm-up{what}")
