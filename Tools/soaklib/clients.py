"""What all clients have: a thread, a server to ask, and a gate that lets them rest."""

import random
import threading
import traceback

# How long an honest client waits for the next bytes before it says that there was no answer. Long
# enough for a machine that does other things, too.
PATIENCE = 60


class Gate:
    """Lets all clients rest at the same time, and go on."""

    def __init__(self):
        self.condition = threading.Condition()
        self.is_closed = self.is_over = False
        self.resting = 0

    def wait(self):
        """Rests while the gate is closed; returns whether to go on afterwards."""
        with self.condition:
            self.resting += 1
            self.condition.notify_all()
            self.condition.wait_for(lambda: not self.is_closed or self.is_over)
            self.resting -= 1
            return not self.is_over

    def close(self, count, seconds):
        """Closes the gate; returns whether so many rest within some seconds."""
        with self.condition:
            self.is_closed = True
            return self.condition.wait_for(lambda: self.resting >= count, seconds)

    def open(self):
        """Lets all go on."""
        with self.condition:
            self.is_closed = False
            self.condition.notify_all()

    def end(self):
        """Lets all go home."""
        with self.condition:
            self.is_over = True
            self.condition.notify_all()


class Proxy:
    """A running `offlinecache serve`, and how it is asked."""

    def __init__(self, server, role, origin_port, store):
        self.server, self.role, self.port = server, role, server.port
        self.origin_port, self.store = origin_port, store

    @property
    def is_shared(self):
        """Whether it is the reverse proxy for many users."""
        return self.role == "shared"

    def target(self, path):
        """Returns what a request for a page of the origin names."""
        return path if self.is_shared else f"http://127.0.0.1:{self.origin_port}{path}"

    def host(self):
        """Returns the field Host of such a request."""
        return ("Host", f"127.0.0.1:{self.port if self.is_shared else self.origin_port}")


class Client(threading.Thread):
    """Does one thing after the other until the gate ends it."""

    def __init__(self, name, proxy, gate, findings, seed):
        super().__init__(daemon=True, name=name)
        self.proxy, self.gate, self.findings = proxy, gate, findings
        self.source = random.Random(f"{seed}/{proxy.role}/{name}")

    def run(self):
        while True:
            if self.gate.is_closed or self.gate.is_over:
                self.rest()
                if not self.gate.wait():
                    return
            try:
                self.step()
            except Exception:  # A client that is gone would find nothing any more.
                self.findings.add(f"fault of a client ({self.name})", traceback.format_exc())

    def rest(self):
        """Gives up what it holds."""

    def step(self):
        raise NotImplementedError
