"""Damages to the contents and names of a store's files; hostile.py has the others.

Each is a function of a Target. It returns the path that it has damaged, or None if it does not
apply to what it has picked.
"""

import os
import shutil
import stat

DAMAGES = {}


def damage(function):
    """Enters a function into the list of damages, under its name."""
    DAMAGES[function.__name__.rstrip("_")] = function
    return function


def read(path):
    with open(path, "rb") as file:
        return file.read()


def overwrite(path, content):
    """Changes a file in place, as rot does: all its links see it, and its times stay."""
    status = os.stat(path)
    file = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.write(file, content)
    os.close(file)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return path


class Target:
    """A store to damage, and a folder outside it whose files are to be left alone."""

    def __init__(self, store, outside, source):
        self.store, self.outside, self.source = store, outside, source
        self.files, self.folders = [], []
        for place, folders, names in os.walk(store):
            self.folders += [os.path.join(place, name) for name in folders]
            self.files += [os.path.join(place, name) for name in names]
        self.files = sorted(
            path for path in self.files if stat.S_ISREG(os.lstat(path).st_mode))
        self.folders.sort()

    def file(self):
        return self.source.choice(self.files)

    def full_file(self):
        """Picks a file that is not empty, and returns its content, too."""
        path = self.source.choice([path for path in self.files if os.path.getsize(path)])
        return path, read(path)

    def folder(self):
        return self.source.choice(self.folders)

    def place(self, content):
        return self.source.randrange(len(content))

    def removed_file(self):
        """Picks a file and removes it, to put something else there."""
        path = self.file()
        os.unlink(path)
        return path

    def removed_folder(self):
        """The same with a folder."""
        path = self.folder()
        shutil.rmtree(path)
        return path


@damage
def bitflip(target):
    path, content = target.full_file()
    bit = target.source.randrange(len(content) * 8)
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return overwrite(path, changed)


@damage
def byteset(target):
    path, content = target.full_file()
    place = target.place(content)
    byte = (content[place] + target.source.randrange(1, 256)) % 256
    return overwrite(path, content[:place] + bytes([byte]) + content[place + 1:])


@damage
def truncate(target):
    path, content = target.full_file()
    return overwrite(path, content[:target.place(content)])


@damage
def empty(target):
    return overwrite(target.full_file()[0], b"")


@damage
def zerofill(target):
    path, content = target.full_file()
    place, count = target.place(content), target.source.choice([1, 16, 512, 4096, len(content)])
    zeros = bytes(len(content[place:place + count]))
    if content[place:place + count] == zeros:
        return None
    return overwrite(path, content[:place] + zeros + content[place + len(zeros):])


@damage
def zeroall(target):
    path, content = target.full_file()
    return overwrite(path, bytes(len(content)))


@damage
def garbage(target):
    path, content = target.full_file()
    return overwrite(path, target.source.randbytes(len(content)))


@damage
def append(target):
    path = target.file()
    return overwrite(path, read(path) + target.source.randbytes(target.source.randrange(1, 600)))


@damage
def insert(target):
    path, content = target.full_file()
    place, more = target.place(content), target.source.randbytes(target.source.randrange(1, 40))
    return overwrite(path, content[:place] + more + content[place:])


@damage
def dupblock(target):
    path, content = target.full_file()
    place = target.place(content)
    end = place + target.source.randrange(1, 512)
    return overwrite(path, content[:end] + content[place:end] + content[end:])


@damage
def stale(target):
    """An older version of a file: the first half of its history."""
    path = target.source.choice([path for path in target.files if os.path.getsize(path) > 60])
    return overwrite(path, read(path)[:os.path.getsize(path) // 2])


@damage
def delete(target):
    return target.removed_file()


@damage
def duplicate(target):
    path = target.file()
    shutil.copy2(path, path + target.source.choice([".copy", "~", " 2", "0"]))
    return path


@damage
def dup_elsewhere(target):
    path = target.file()
    copy = os.path.join(target.folder(), os.path.basename(path))
    if os.path.exists(copy):
        return None
    shutil.copy2(path, copy)
    return path


@damage
def rename(target):
    path = target.file()
    name = f"{target.source.getrandbits(128):032x}"
    os.rename(path, os.path.join(os.path.dirname(path), name))
    return path


@damage
def rename_dir(target):
    path = target.folder()
    os.rename(path, path + "x")
    return path


def exchange(path, other):
    os.rename(path, path + ".swp")
    os.rename(other, path)
    os.rename(path + ".swp", other)
    return path


@damage
def swap(target):
    path, other = target.source.sample(target.files, 2)
    return None if read(path) == read(other) else exchange(path, other)


@damage
def swap_same_kind(target):
    def kind(path):
        return os.path.relpath(path, target.store).split("/")[0], os.path.basename(path)[:1]

    path = target.file()
    others = [other for other in target.files
              if kind(other) == kind(path) and read(other) != read(path)]
    return exchange(path, target.source.choice(others)) if others else None


@damage
def relink(target):
    path, other = target.source.sample(target.files, 2)
    if read(path) == read(other):
        return None
    os.unlink(other)
    os.link(path, other)
    return other


@damage
def unlinked_copy(target):
    linked = [path for path in target.files if os.stat(path).st_nlink > 1]
    if not linked:
        return None
    path = target.source.choice(linked)
    content = read(path)
    os.unlink(path)
    with open(path, "wb") as file:
        file.write(content)
    return path
