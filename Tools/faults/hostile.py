"""Hostile contents of a store: links, other types of files, modes, times, and odd names."""

import os
import shutil
import socket

from damages import DAMAGES, damage


def link_to(destination):
    """Returns a damage that puts a symbolic link in the place of a file."""
    def link(target):
        path = target.file()
        points_to = destination(target, path)
        os.unlink(path)
        os.symlink(points_to, path)
        return path
    return link


def moved_outside(target, path):
    """Returns the place outside the store where a file was copied to."""
    place = os.path.join(target.outside, f"moved{target.source.randrange(10 ** 9)}")
    shutil.copy2(path, place)
    return place


DAMAGES["sym_out"] = link_to(lambda target, path: target.outside + "/canary")
DAMAGES["sym_self"] = link_to(lambda target, path: os.path.basename(path))
DAMAGES["sym_dangling"] = link_to(lambda target, path: "/nonexistent/x")
DAMAGES["sym_dev"] = link_to(
    lambda target, path: target.source.choice(["/dev/zero", "/proc/self/mem", "/dev/full"]))
DAMAGES["sym_moved"] = link_to(moved_outside)


@damage
def sym_dir(target):
    path = target.removed_folder()
    os.symlink(target.outside, path)
    return path


@damage
def fifo(target):
    path = target.removed_file()
    os.mkfifo(path)
    return path


@damage
def sock(target):
    path = target.removed_file()
    with socket.socket(socket.AF_UNIX) as server:
        # The path of a socket is limited to about a hundred bytes; a name in the folder is not.
        here = os.open(os.path.dirname(path), os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/{os.path.basename(path)}")
        os.close(here)
    return path


@damage
def todir(target):
    path = target.removed_file()
    os.mkdir(path)
    if target.source.random() < 0.5:
        with open(path + "/x", "w", encoding="utf-8") as file:
            file.write("x")
    return path


@damage
def dir_to_file(target):
    path = target.removed_folder()
    with open(path, "w", encoding="utf-8") as file:
        file.write("x")
    return path


@damage
def rmdir(target):
    return target.removed_folder()


@damage
def chmod0(target):
    path = target.file()
    os.chmod(path, 0)
    return path


@damage
def chmod0_dir(target):
    path = target.folder()
    os.chmod(path, 0)
    return path


@damage
def readonly(target):
    path = target.folder()
    os.chmod(path, 0o555)
    return path


@damage
def mtime(target):
    path = target.file()
    os.utime(path, (target.source.choice([0, 4e9, -1e9, 1]),) * 2)
    return path


@damage
def sparse(target):
    path = target.file()
    os.truncate(path, 1 << 40)
    return path


@damage
def longname(target):
    path = target.folder()
    with open(os.path.join(path, "n" * 255), "w", encoding="utf-8"):
        return path


@damage
def badname(target):
    path = target.folder()
    name = target.source.choice([b"\xff\xfe", b"a\nb", b"-rf", b"..x", b" ", b"\x01", b"%s%n"])
    with open(os.path.join(os.fsencode(path), name), "wb"):
        return path


@damage
def deep(target):
    path = target.folder()
    folder = os.open(path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 20, dir_fd=folder)
        inner = os.open("d" * 20, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    return path


@damage
def many(target):
    path = target.folder()
    for number in range(2000):
        with open(os.path.join(path, f"j{number}"), "wb"):
            pass
    return path
