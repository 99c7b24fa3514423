"""Models of what a power cut leaves of a recorded run.

posix   Only what fsync(file), fsync(folder) or syncfs covers is durable; of the rest any part is.
names   As posix; fsync(file) also makes its new names and their folders durable, as ext4, XFS and
        btrfs do.
xfs     Names persist in order, and each fsync commits all earlier ones. Of unsynced data any pages
        persist.
ext4    As xfs; and replacing a file by a rename writes the new file's data first (auto_da_alloc).
"""

import hashlib
import os

from recorded import FILE, FOLDER, LINK

PROFILES = ("posix", "names", "ext4", "xfs")
ORDERED = ("ext4", "xfs")


def durability(run, profile):
    """Returns for each event the time from which it is durable; after the end: never."""
    since = {event: run.end + 1 for event in run.events}
    pending, place, failed = [], 0, set()
    for time, kind, node in sorted(run.syncs, key=lambda sync: sync[0]):
        while place < len(run.events) and run.events[place].time < time:
            pending.append(run.events[place])
            place += 1
        if kind == "sync_failed":
            failed.update(event for event in pending if event.is_content(node))
            continue
        covered = covered_by(run, profile, kind, node, pending)
        for event in pending:
            if covered(event) and event not in failed:
                since[event] = time
        pending = [event for event in pending if since[event] > run.end]
    return since


def covered_by(run, profile, kind, node, pending):
    """Returns a function that says whether a sync makes an event durable."""
    if kind == "syncfs":
        return lambda event: True
    commits_names = profile in ORDERED and (
        kind == "fsync" or run.kinds.get(node) == FOLDER
        or any(event.is_content(node) for event in pending))
    # A rename that is committed has the data of the new file written.
    with_data = {event.replacing for event in pending if event.kind == "names"} - {None}
    if not (profile == "ext4" and commits_names):
        with_data = set()
    wanted = names_of(node, pending) if profile == "names" else set()

    def is_covered(event):
        if event.kind != "names":
            return event.node == node or event.node in with_data
        if profile in ORDERED:
            return commits_names
        return any(folder == node or entry in wanted for folder, _, entry in event.names)

    return is_covered


def names_of(node, pending):
    """Returns a file and the folders that were made to reach it."""
    found = {node}
    for event in reversed(pending):
        for folder, _, entry in event.names:
            if entry in found:
                found.add(folder)
    return found


class Cut:
    """The power goes at a time: some events are durable, of the others any allowed part is."""

    def __init__(self, run, since, profile, time):
        self.profile = profile
        self.before = [event for event in run.events if event.time < time]
        self.volatile = [event for event in self.before if since[event] >= time]

    def pick(self, chosen, changed=None):
        """Returns the events of a state, with the data that takes the place of theirs."""
        kept = set(chosen)
        if self.profile in ORDERED:
            self._order_names(kept)
            if self.profile == "ext4":
                self._add_data(kept)
            self._order_data(kept)
        volatile = set(self.volatile)
        return [(event, (changed or {}).get(event)) for event in self.before
                if event not in volatile or event in kept]

    def _order_names(self, kept):
        """Drops the names after the first that is not kept."""
        names = [event for event in self.volatile if event.kind == "names"]
        stop = next((event.time for event in names if event not in kept), None)
        if stop is not None:
            kept.difference_update(event for event in names if event.time >= stop)

    def _add_data(self, kept):
        """Keeps the data of files that have replaced others."""
        for event in self.volatile:
            if event in kept and event.replacing is not None:
                kept.update(other for other in self.volatile
                            if other.is_content(event.replacing) and other.time < event.time)

    def _order_data(self, kept):
        """Drops pages behind a lost one: a file grows only with its data."""
        lost = set()
        for event in self.volatile:
            if event.kind == "names":
                continue
            if event not in kept:
                lost.add(event.node)
            elif event.node in lost and event.kind == "data":
                kept.discard(event)

    def states(self, source, subsets, single):
        """Yields states with their kinds: all and nothing, single events, and some at random."""
        yield "all", self.pick(self.volatile)
        if not self.volatile:
            return
        yield "none", self.pick([])
        pool = self.volatile
        if len(pool) > single:
            pool = source.sample(pool, single)
        for event in pool:
            yield "drop-one", self.pick([other for other in self.volatile if other is not event])
        for event in pool if len(self.volatile) > 1 else []:
            yield "only-one", self.pick([event])
        for _ in range(subsets if len(self.volatile) > 2 else 0):
            share = source.random()
            yield "random", self.pick(
                [event for event in self.volatile if source.random() < share])
        yield from self._torn(source)

    def _torn(self, source):
        writes = [event for event in self.volatile if event.kind == "data"]
        for event in writes if len(writes) <= 3 else source.sample(writes, 3):
            if len(event.data) > 1:
                count = source.randrange(1, len(event.data))
                # A disk writes sectors.
                count = count // 512 * 512 or count
                yield "torn-write", self.pick(self.volatile, {event: event.data[:count]})
            if self.profile not in ORDERED:
                yield "size-without-data", self.pick(
                    self.volatile, {event: bytes(len(event.data))})


class State:
    """The files that a choice of events makes."""

    def __init__(self, run, chosen):
        self.run = run
        self.folders = {node: dict(names) for node, names in run.first_folders.items()}
        self.contents = {}
        for event, changed in chosen:
            self._apply(event, changed)
        self.files = []
        self._list(0, "", 0)

    def _apply(self, event, changed):
        if event.kind == "names":
            for folder, name, node in event.names:
                entries = self.folders.setdefault(folder, {})
                if node is None:
                    entries.pop(name, None)
                else:
                    entries[name] = node
            return
        content = self.contents.setdefault(
            event.node, bytearray(self.run.contents.get(event.node, b"")))
        if event.kind == "size":
            del content[event.size:]
            content.extend(bytes(event.size - len(content)))
            return
        data = event.data if changed is None else changed
        content.extend(bytes(max(0, event.offset + len(data) - len(content))))
        content[event.offset:event.offset + len(data)] = data

    def _list(self, folder, path, depth):
        for name, node in sorted(self.folders.get(folder, {}).items()):
            kind = self.run.kinds[node]
            content = b"" if kind == FOLDER else bytes(
                self.contents.get(node, self.run.contents.get(node, b"")))
            self.files.append((f"{path}/{name}", kind, node, content))
            if kind == FOLDER and depth < 64:
                self._list(node, f"{path}/{name}", depth + 1)

    def digest(self):
        """Returns a digest of all names and contents."""
        found = hashlib.blake2b(digest_size=16)
        for path, kind, _, content in self.files:
            found.update(f"{kind}{path}\0{len(content)}\0".encode())
            found.update(content)
        return found.digest()

    def write(self, target):
        os.makedirs(target, exist_ok=True)
        written = {}
        for path, kind, node, content in self.files:
            path = target + path
            if kind == FOLDER:
                os.makedirs(path, exist_ok=True)
            elif kind == LINK:
                os.symlink(content, path)
            elif node in written:
                os.link(written[node], path)
            elif kind == FILE:
                with open(path, "wb") as file:
                    file.write(content)
                written[node] = path
