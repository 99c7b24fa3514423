"""Other programs on the store of a server: the library, the command, the checker."""

import os
import signal
import subprocess
import time

from .clients import Client

# How long a program may take before it hangs.
PATIENCE = 120


class Neighbour(Client):
    """Runs one program after the other, and rests between them."""

    def __init__(self, name, proxy, gate, findings, seed, tools, pause):
        super().__init__(name, proxy, gate, findings, seed)
        self.tools, self.pause = tools, pause

    def run_tool(self, kind, command, allowed=(0,), content=None, is_killed=False):
        """Runs a program; returns its exit status and output, or nothing after a finding or a kill."""
        if self.findings.is_closed:
            return None, b""
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            if is_killed:
                time.sleep(self.source.random())
                process.send_signal(signal.SIGKILL)
            out, err = process.communicate(content, PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.findings.add(f"hangs ({kind})", " ".join(command))
            return None, b""
        self.findings.count(kind)
        if process.returncode in allowed:
            return process.returncode, out
        if not (is_killed and process.returncode == -signal.SIGKILL):
            text = (out + err).decode(errors="replace").strip()[-600:]
            self.findings.add(
                f"fails ({kind})", f"{' '.join(command)}: {process.returncode} {text}")
        return None, b""


class Library(Neighbour):
    """A process of the library that stores, reads and removes; now and then one is killed."""

    def step(self):
        seed = str(self.source.randrange(10 ** 6))
        self.run_tool(
            "library processes", [self.tools["storeprobe"], self.proxy.store, "hammer", "2", seed],
            is_killed=self.source.random() < 0.15)
        time.sleep(self.pause)


class Command(Neighbour):
    """Puts, gets and removes entries by the command, and compares what it gets."""

    def step(self):
        key = f"{self.name}/{self.source.randrange(10)}"
        content = self.source.randbytes(self.source.choice([0, 100, 50_000]))
        general = ["--store", self.proxy.store]
        tool = self.tools["offlinecache"]
        self.run_tool("commands", [tool, "put", *general, key, "-"], content=content)
        # The limits may have evicted it.
        status, found = self.run_tool("commands", [tool, "get", *general, key], allowed=(0, 1))
        if status == 0 and found != content:
            self.findings.add("wrong bytes (get)", f"{key}: {len(found)} of {len(content)} bytes")
        if self.source.random() < 0.5:
            self.run_tool("commands", [tool, "rm", *general, key], allowed=(0, 1))
        time.sleep(self.pause)


class Keeper(Neighbour):
    """Does what concerns all entries: limits, evicts, settles and removes. Pinned ones stay."""

    def __init__(self, *common, most):
        super().__init__(*common)
        self.most = most

    def step(self):
        tool, general = self.tools["offlinecache"], ["--store", self.proxy.store]
        key, content = f"{self.name}/pinned", self.source.randbytes(self.source.choice([9, 70_000]))

        def run(command, *words, **more):
            return self.run_tool("upkeep", [tool, command, *general, *words], **more)
        run("put", key, "-", content=content)
        # The limits may have evicted it.
        is_pinned = run("pin", key, allowed=(0, 1))[0] == 0
        for command in self.source.choices([
                ("trim", "--bytes", str(self.source.randrange(self.most))),
                ("limit", "--bytes", str(self.source.randrange(self.most // 2, self.most))),
                ("limit", "--entries", str(self.source.randrange(50, 5_000))),
                ("settle",), ("stats", "--json"), ("ls", "--json"),
                ("rm", "--older-than", f"{self.source.randrange(20, 120)}s"),
                ("rm", "--prefix", "GET http", *self.source.choice([(), ("--purge",)]))], k=3):
            run(*command)
        status, found = run("get", key, allowed=(0, 1))
        if is_pinned and status != 0 or status == 0 and found != content:
            self.findings.add("pinned entry", f"{key}: {status}, {len(found)} of {len(content)}")
        # The only one that removes everything; the next round begins with the limits of the first.
        run(*self.source.choice([("unpin", key), ("rm", key), ("rm", "--all")]), allowed=(0, 1))
        run("limit", "--bytes", str(self.most), "--entries", "none")
        time.sleep(self.pause)


class Checker(Neighbour):
    """Repairs the store while it is used; that loses nothing, and leaves nothing."""

    def step(self):
        time.sleep(self.pause * (0.5 + self.source.random()))
        self.repair()

    def repair(self):
        self.run_tool("repairs", [
            self.tools["cachefsck"], "--repair", "safe", "--no-progress", self.proxy.store],
            allowed=(0, 1))


def final_check(tools, store, findings):
    """Checks a store that nobody uses any more, with all its bytes."""
    done = subprocess.run(
        [tools["cachefsck"], "--deep", "--no-progress", store], capture_output=True, text=True,
        errors="replace", timeout=600, check=False)
    findings.count("final checks")
    if done.returncode:
        findings.add("final check", f"{store}: {done.returncode} {done.stdout.strip()[-1500:]}")


def journal_bytes(store):
    total = 0
    for name in os.listdir(f"{store}/journal"):
        try:
            total += os.path.getsize(f"{store}/journal/{name}")
        except FileNotFoundError:
            pass
    return total
