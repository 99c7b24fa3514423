"""Shared parts of the fault kit.

Commands are shell strings in which {dir} is the folder of the store, {ack} a file with the standard
output of the workload (what it promised), and {n} the number of the point.
"""

import argparse
import concurrent.futures
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.dirname(HERE))
FAULTRUN = os.path.join(PACKAGE, ".build", "faults", "faultrun")


def build():
    """Compiles the engine, unless it is newer than its sources."""
    folder = os.path.join(HERE, "engine")
    sources = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    newest = max(os.path.getmtime(source) for source in sources)
    if os.path.exists(FAULTRUN) and os.path.getmtime(FAULTRUN) >= newest:
        return
    os.makedirs(os.path.dirname(FAULTRUN), exist_ok=True)
    # Under another name first: somebody else may be building, or running, the same file.
    made = f"{FAULTRUN}.{os.getpid()}"
    subprocess.check_call(
        ["gcc", "-O2", "-o", made, *(name for name in sources if name.endswith(".c"))])
    os.rename(made, FAULTRUN)


def fill_in(command, **values):
    """Returns a command with its places filled in, each quoted for the shell."""
    for name, value in values.items():
        command = command.replace("{%s}" % name, shlex.quote(str(value)))
    return command


def run_shell(command, seconds, stdout=None):
    """Runs a command; returns its exit status and its output.

    The status is negative for a signal, and None after a timeout, when the whole process group is
    killed.
    """
    plain = not any(character in command for character in ";|&")
    process = subprocess.Popen(
        ["/bin/sh", "-c", "exec " + command if plain else command], stdin=subprocess.DEVNULL,
        stdout=stdout or subprocess.PIPE,
        stderr=subprocess.PIPE if stdout else subprocess.STDOUT, start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        out, err = process.communicate()
        status = None
    return signed(status), ((out or b"") + (err or b"")).decode("utf-8", "replace")


def signed(status):
    """Returns an exit status, negative where the shell or the engine tells of a signal."""
    return 128 - status if status is not None and 128 <= status < 192 else status


def end_of(status, has_fault=True):
    """Returns how a run ended: ok, reported, failed, crash or hang.

    An error is `reported` where a fault explains it, and `failed` without one. SIGKILL is from the
    engine, whose time is up.
    """
    if status in (None, -signal.SIGKILL):
        return "hang"
    if status < 0:
        return "crash"
    return "ok" if status == 0 else "reported" if has_fault else "failed"


def copy_tree(source, target):
    """Copies a folder with its links, times and modes."""
    subprocess.check_call(["cp", "-a", source, target])


def remove_tree(folder):
    """Removes a folder, whatever modes its files have."""
    subprocess.call(["chmod", "-R", "u+rwX", folder], stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


class Point:
    """A store in a folder of its own, for one fault."""

    def __init__(self, options, name):
        self.options, self.name = options, name
        self.base = tempfile.mkdtemp(prefix=f"fault{name}.", dir=options.workdir)
        self.store = os.path.join(self.base, "s")
        self.ack = os.path.join(options.ackdir, os.path.basename(self.base) + ".ack")
        with open(self.ack, "wb"):
            pass

    def fill_in(self, command):
        """Returns a command for this store."""
        return fill_in(command, dir=self.store, ack=self.ack, n=self.name)

    def run(self, command, flags):
        """Runs a command under the engine and notes its output; returns its status, what it printed
        besides, and what the engine counted."""
        counts = self.ack + ".status"
        seconds = self.options.timeout
        words = [
            FAULTRUN, "--root", self.base, "--status", counts, "--timeout", str(seconds), *flags,
            "--", "/bin/sh", "-c", "exec " + self.fill_in(command)]
        with open(self.ack, "ab") as file:
            status, output = run_shell(shlex.join(words), seconds + 5, stdout=file)
        return status, output, self._read_counts(counts)

    def _read_counts(self, name):
        try:
            with open(name, encoding="utf-8", errors="replace") as file:
                words, _, path = file.read().partition(" path=")
            os.unlink(name)
        except OSError:
            return {}
        found = dict(word.split("=", 1) for word in words.split())
        return {**found, "path": path.strip().replace(self.base, "")}

    def verify(self):
        """Checks the promises; returns the exit status and the output."""
        status, output = run_shell(self.fill_in(self.options.verify), self.options.timeout)
        return status, output.strip()

    def remove(self, is_kept=False):
        """Removes the store, after copying it where --keep says."""
        if is_kept and self.options.keep:
            os.makedirs(self.options.keep, exist_ok=True)
            copy = os.path.join(self.options.keep, str(self.name))
            remove_tree(copy)
            copy_tree(self.base, copy)
            shutil.copy(self.ack, os.path.join(copy, "ack"))
        remove_tree(self.base)
        os.unlink(self.ack)


def parser(doc):
    """Returns a parser of the options that most scripts have."""
    found = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument(
        "--run", required=True, metavar="COMMAND", help="the workload, which prints its promises")
    found.add_argument(
        "--verify", required=True, metavar="COMMAND", help="exits with 0 if every promise was kept")
    found.add_argument("--ackdir", default="/dev/shm", help="where the promises are kept")
    found.add_argument("--set", default="mut", help="mut, read, lock, all, or names of calls")
    found.add_argument("--max-points", type=int, default=100_000)
    found.add_argument("--stride", type=int, default=1, help="try each n-th point only")
    found.add_argument("--keep", metavar="DIR", help="keep the stores of failed points there")
    add_common_options(found)
    return found


def add_common_options(found):
    """Adds the options that every script has."""
    found.add_argument("--workdir", default="/dev/shm", help="where the stores are made")
    found.add_argument("--jobs", type=int, default=2, help="points at a time")
    found.add_argument("--timeout", type=int, default=20, help="seconds until a command hangs")
    found.add_argument("--seed", type=int, default=1)
    found.add_argument("--json", metavar="FILE", help="write the results for machines")
    found.add_argument("--show", type=int, default=8, help="how many failures are shown")


def probe(options):
    """Runs the workload without a fault; returns how many points it has, or None if that fails."""
    point = Point(options, "probe")
    status, _, counts = point.run(options.run, ["--set", options.set])
    verified, output = point.verify()
    point.remove()
    print(f"without a fault: run {status}, {counts.get('points')} points, verify {verified} "
          f"{output[:200]}")
    if status != 0 or verified != 0:
        print("the workload or its verification fails even without a fault")
        return None
    return int(counts["points"])


def in_parallel(function, items, jobs):
    """Yields the results of a function for all items, in their order."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as executor:
        yield from executor.map(function, items)


def table(head, rows, left=1):
    """Returns a table as text: the first columns to the left, the others to the right."""
    widths = [max(len(str(row[place])) for row in [head, *rows]) for place in range(len(head))]
    return "\n".join("  ".join(
        str(cell).ljust(width) if place < left else str(cell).rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in [head, *rows])


def print_table(head, rows):
    """Prints a table whose first column has names."""
    print(table(head, rows))


class Stopwatch:
    """The seconds since it was made."""

    def __init__(self):
        self.start = time.monotonic()

    def __str__(self):
        return f"{time.monotonic() - self.start:.1f} s"
