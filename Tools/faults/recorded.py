"""A recorded run: the file system as the program saw it, and the events that made it so."""

import dataclasses
import os

PAGE = 4096
WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "copy_file_range", "sendfile")
# What open(2) has for O_TMPFILE, which Python has not on all platforms.
UNNAMED = 0o20200000
# The flag of renameat2(2) that exchanges two names, and that of fallocate(2) that keeps the size.
EXCHANGE, KEEP_SIZE = 2, 1
FOLDER, FILE, LINK = "d", "f", "l"


@dataclasses.dataclass(eq=False)
class Event:
    """One change that a power cut may lose: names of folders, a page of data, or a file's size."""

    time: int
    kind: str
    node: int | None = None
    offset: int = 0
    data: bytes = b""
    size: int = 0
    # (folder, name, node), or None for a name that is removed.
    names: tuple = ()
    # The file that takes the place of another one.
    replacing: int | None = None

    def is_content(self, node):
        """Returns whether this changes the content of a file."""
        return self.kind in ("data", "size") and self.node == node

    def __str__(self):
        if self.kind == "names":
            return f"names {list(self.names)}"
        if self.kind == "size":
            return f"size of {self.node} = {self.size}"
        return f"data of {self.node} at {self.offset} + {len(self.data)}"


class RecordedRun:
    """Follows the calls of a run, as the engine has recorded them."""

    def __init__(self, root):
        self.root = root
        # The folders by number, each with the numbers of its entries by name.
        self.folders, self.kinds, self.sizes = {0: {}}, {0: FOLDER}, {}
        # What was there before the run, and the numbers of inodes.
        self.contents, self.nodes_by_inode = {}, {}
        self.events, self.syncs, self.promises, self.warnings = [], [], [], set()
        self.end = 0
        self._load()

    def _new(self, kind):
        node = len(self.kinds)
        self.kinds[node], self.sizes[node] = kind, 0
        if kind == FOLDER:
            self.folders[node] = {}
        return node

    def _load(self):
        """Takes in what is there before the run."""
        for folder, folders, files in os.walk(self.root):
            entries = self.folders[self._find(folder)]
            for name in folders + files:
                entries[name] = self._load_one(os.path.join(folder, name), name in folders)
        self.first_folders = {node: dict(names) for node, names in self.folders.items()}

    def _load_one(self, path, is_folder):
        inode = os.lstat(path).st_ino
        if os.path.islink(path):
            node = self._new(LINK)
            self.contents[node] = os.fsencode(os.readlink(path))
            return node
        if inode in self.nodes_by_inode:
            return self.nodes_by_inode[inode]
        node = self.nodes_by_inode[inode] = self._new(FOLDER if is_folder else FILE)
        if not is_folder:
            with open(path, "rb") as file:
                self.contents[node] = file.read()
            self.sizes[node] = len(self.contents[node])
        return node

    def _parts(self, path):
        return [part for part in os.path.relpath(path, self.root).split("/")
                if part not in (".", "")]

    def _find(self, path):
        node = 0
        for part in self._parts(path):
            if part == ".." or self.kinds.get(node) != FOLDER or part not in self.folders[node]:
                return None
            node = self.folders[node][part]
        return node

    def _place(self, path):
        """Returns the folder and the name of a path."""
        parts = self._parts(path)
        return self._find(os.path.join(self.root, *parts[:-1])), parts[-1] if parts else None

    def _node(self, record):
        """Returns the file that a call was about."""
        found = self._find(record["p"])
        return found if record.get("dir") == 1 else self.nodes_by_inode.get(
            record.get("ino"), found)

    def _change_names(self, time, *names, replacing=None):
        for folder, name, node in names:
            if folder is None:
                return
        for folder, name, node in names:
            if node is None:
                self.folders[folder].pop(name, None)
            else:
                self.folders[folder][name] = node
        self.events.append(Event(time, "names", names=names, replacing=replacing))

    def _change_size(self, time, node, size):
        self.events.append(Event(time, "size", node, size=size))
        self.sizes[node] = size

    def _write(self, time, node, offset, data):
        start = 0
        while start < len(data):
            count = min(PAGE - (offset + start) % PAGE, len(data) - start)
            piece = data[start:start + count]
            self.events.append(Event(time, "data", node, offset + start, piece))
            start += count
        self.sizes[node] = max(self.sizes.get(node, 0), offset + len(data))

    def follow(self, records, content):
        """Takes in the records of all calls; `content` is what they wrote."""
        for time, record in enumerate(records):
            data = content[record.get("blob", 0):][:record.get("len", 0)]
            if record["p"] == "<ack>":
                self.promises.append((time, data))
            elif record["op"] in WRITES:
                node = self._node(record)
                if node is not None and data:
                    self._write(time, node, record["off"], data)
            else:
                method = getattr(self, "_on_" + record["op"], None)
                if method:
                    method(time, record)
        self.end = len(records)

    def _on_openat(self, time, record):
        flags = record.get("flags", os.O_CREAT)
        if flags & UNNAMED == UNNAMED:
            self.nodes_by_inode[record["ino"]] = self._new(FILE)
            return
        node, is_file = self._find(record["p"]), record.get("dir") == 0
        if node is None and flags & os.O_CREAT and is_file:
            folder, name = self._place(record["p"])
            if folder is None:
                return
            node = self._new(FILE)
            self._change_names(time, (folder, name, node))
        elif (node is not None and flags & os.O_TRUNC and self.kinds[node] == FILE
              and self.sizes.get(node)):
            self._change_size(time, node, 0)
        if node is not None and is_file:
            self.nodes_by_inode[record["ino"]] = node

    _on_open = _on_openat2 = _on_creat = _on_openat

    def _on_ftruncate(self, time, record):
        node = self._node(record)
        if node is not None:
            self._change_size(time, node, record["size"])

    _on_truncate = _on_ftruncate

    def _on_fallocate(self, time, record):
        node, end = self._node(record), record["off"] + record["size"]
        if node is not None and not record["mode"] & KEEP_SIZE and end > self.sizes.get(node, 0):
            self._change_size(time, node, end)

    def _on_mkdir(self, time, record):
        folder, name = self._place(record["p"])
        if folder is not None:
            self._change_names(time, (folder, name, self._new(FOLDER)))

    _on_mkdirat = _on_mkdir

    def _on_symlink(self, time, record):
        node = self._new(LINK)
        self.contents[node] = record.get("target", "").encode()
        self._change_names(time, (*self._place(record["p2"]), node))

    _on_symlinkat = _on_symlink

    def _on_unlink(self, time, record):
        self._change_names(time, (*self._place(record["p"]), None))

    _on_unlinkat = _on_rmdir = _on_unlink

    def _on_link(self, time, record):
        node = self.nodes_by_inode.get(record.get("srcino")) or self._find(record["p"])
        if node is not None:
            self._change_names(time, (*self._place(record["p2"]), node))

    _on_linkat = _on_link

    def _on_rename(self, time, record):
        node, source, target = self._find(record["p"]), self._place(record["p"]), self._place(
            record["p2"])
        if node is None or target[0] is None:
            return
        replaced = self.folders[target[0]].get(target[1])
        if record.get("flags", 0) & EXCHANGE:
            self._change_names(time, (*source, replaced), (*target, node))
        # With two links of one file, rename(2) does nothing.
        elif replaced != node:
            self._change_names(time, (*source, None), (*target, node),
                               replacing=None if replaced is None else node)

    _on_renameat = _on_renameat2 = _on_rename

    def _on_fsync(self, time, record):
        node = self._node(record)
        if node is not None:
            self.syncs.append((time, record["op"], node))

    _on_fdatasync = _on_sync_failed = _on_fsync

    def _on_syncfs(self, time, record):
        self.syncs.append((time, record["op"], None))

    def _on_mmap(self, time, record):
        self.warnings.add(
            f"shared writable mmap of {os.path.basename(record['p'])} is not modelled")
