"""Asks a server to end while clients hang on it."""

import signal
import socket
import subprocess
import time

from . import wire
from .origin import SLOW

# What a busy machine may add to the grace, in seconds.
SLACK = 15


def stop(proxy, findings, grace):
    """Sends SIGTERM to a busy server; it must end by itself, within the grace, with status 0."""
    hangers = []
    for text in (b"", wire.head("GET", proxy.target("/slow/1"), [proxy.host()]),
                 wire.head("GET", proxy.target("/silent/1"), [proxy.host()]), b"GET /half"):
        try:
            connection = wire.Connection(proxy.port, SLOW)
            connection.send(text)
            hangers.append(connection)
        except (OSError, wire.Unanswered):
            pass
    process, start = proxy.server.process, time.monotonic()
    process.send_signal(signal.SIGTERM)
    findings.count("orderly ends")
    try:
        status = process.wait(grace + SLACK)
        if status != 0:
            findings.add(f"end ({proxy.role})", f"exit status {status} after SIGTERM")
    except subprocess.TimeoutExpired:
        findings.add(f"end ({proxy.role})",
                     f"still there {time.monotonic() - start:.0f} s after SIGTERM")
        proxy.server.kill()
    for connection in hangers:
        connection.close()


def answers(proxy, patience):
    """Returns whether a server answers a question about itself."""
    try:
        connection = wire.Connection(proxy.port, patience)
        answer = connection.ask("GET", "/.offlinecache/status",
                                [("Host", f"127.0.0.1:{proxy.port}")])
        connection.close()
        return answer.status == 200
    except (OSError, wire.Cut, wire.Unanswered, socket.timeout):
        return False
