"""Leaves nothing behind: no process, no mount, no folder, also after Ctrl-C."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Makes processes whose parent dies ours, so that they can be found and ended."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def raise_on_signals():
    """Makes SIGTERM and SIGHUP end the program as Ctrl-C does."""
    def interrupt(number, frame):
        raise KeyboardInterrupt
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def ignore_signals():
    """Lets nothing interrupt the clean-up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def descendants():
    """Returns the numbers of all processes that come from this one."""
    children = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                # The name of the program may hold anything, so what comes after it is taken.
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(int(name))
    found, rest = [], [os.getpid()]
    while rest:
        for child in children.get(rest.pop(), []):
            found.append(child)
            rest.append(child)
    return found


def end_processes():
    """Kills every process that comes from this one, until there is none."""
    for _ in range(200):
        left = descendants()
        for number in left:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            if not left:
                return
        time.sleep(0.02)


def unmount_below(folder):
    """Unmounts what a test has mounted in a folder."""
    with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
        # A space is written as \040.
        places = [re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split()[1])
                  for line in file]
    for place in reversed(places):
        if place.startswith(folder + "/"):
            subprocess.call(["umount", place])


class WorkFolder:
    """A temporary folder that goes away with everything in it, mounted or not."""

    def __init__(self, parent, prefix):
        if parent:
            os.makedirs(parent, exist_ok=True)
        self.path = tempfile.mkdtemp(prefix=prefix, dir=parent)

    def remove(self):
        """Removes the folder; called with no process left."""
        unmount_below(self.path)
        subprocess.call(
            ["chmod", "-R", "u+rwX", self.path], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.path, ignore_errors=True)
