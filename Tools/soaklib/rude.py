"""Clients that do what they should not. Nobody looks at their answers."""

import time

from . import pages, wire
from .clients import Client
from .origin import RUDE

# How long a rude client stays at one thing, at most, in seconds.
LONGEST = 8


class Rude(Client):
    """Does one rude thing after the other."""

    THINGS = (
        "leave_a_download", "read_slowly", "abort_an_upload", "abort_chunks", "ask_for_trouble",
        "send_a_huge_head", "send_garbage", "send_a_head_slowly", "ask_oddly", "hang_up",
        "pipeline")
    # Aborted uploads have stopped a server; many at once come closer to it than one now and then.
    ABORTS = ("abort_chunks", "abort_chunks", "abort_chunks", "abort_an_upload")

    def __init__(self, name, *common, only_aborts=False):
        super().__init__(name, *common)
        self.things = self.ABORTS if only_aborts else self.THINGS

    def step(self):
        thing = self.source.choice(self.things)
        connection = None
        try:
            connection = wire.Connection(
                self.proxy.port, LONGEST, 4096 if thing == "read_slowly" else None)
            getattr(self, thing)(connection)
        except (wire.Cut, wire.Unanswered, OSError, ValueError):
            pass
        finally:
            if connection and self.source.random() < 0.5:
                connection.close()
            elif connection:
                connection.reset()
        self.findings.count("rude things")
        time.sleep(self.source.random() * 0.1)

    def head(self, method, path, *fields):
        return wire.head(method, self.proxy.target(path), [self.proxy.host(), *fields])

    def page(self):
        return f"/fixed/{self.source.randrange(pages.FIXED)}"

    def leave_a_download(self, connection):
        """Leaves in the middle of an answer."""
        connection.send(self.head("GET", self.page()))
        connection.receive(self.source.randrange(1, 20_000))

    def read_slowly(self, connection):
        """Reads a few bytes now and then."""
        connection.send(self.head("GET", self.page()))
        for _ in range(self.source.randrange(1, 20)):
            connection.receive(100)
            time.sleep(0.2)

    def abort_an_upload(self, connection):
        """Sends less than it has said."""
        path = self.source.choice(["/digest", "/echo", "/early"])
        connection.send(self.head("POST", path, ("Content-Length", 1_000_000)))
        connection.send(bytes(self.source.randrange(200_000)))

    def abort_chunks(self, connection):
        """Sends small chunks, mostly to an origin that has answered already, and goes away."""
        path = self.source.choice(["/early", "/early", "/echo", "/digest"])
        for _ in range(self.source.randrange(1, 8)):
            if not connection:
                connection = wire.Connection(self.proxy.port, LONGEST)
            connection.send(self.head("POST", path, ("Transfer-Encoding", "chunked")))
            for _ in range(self.source.randrange(200)):
                connection.send(wire.chunk(b"x" * self.source.randrange(1, 50)))
            connection.reset()
            connection = None

    def ask_for_trouble(self, connection):
        """Asks the origin for one of its rude answers."""
        path = f"/{self.source.choice(RUDE)}/{self.source.randrange(5)}"
        connection.send(self.head("GET", path))
        if self.source.random() < 0.7:
            connection.read_body(connection.read_head(), "GET")

    def send_a_huge_head(self, connection):
        """Sends more fields than anybody needs."""
        size = self.source.choice([20_000, 70_000, 1_000_000])
        connection.send(self.head("GET", self.page(), ("Cookie", "c" * size)))
        connection.receive()

    def send_garbage(self, connection):
        connection.send(self.source.choice([
            self.source.randbytes(2000), b"\r\n" * 500, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/1.1\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]))
        connection.receive()

    def send_a_head_slowly(self, connection):
        """Sends a head byte by byte, and mostly not to its end."""
        text = self.head("GET", self.page())
        for place in range(self.source.randrange(5, 30)):
            connection.send(text[place:place + 1])
            time.sleep(0.2)

    def ask_oddly(self, connection):
        """Sends methods, ranges and conditions that make no sense."""
        odd = self.source.choice([
            ("Range", "bytes=5-1,9999999999999999999-"), ("Range", "bytes=" + "0-1," * 500 + "2-3"),
            ("If-None-Match", '"' + "x" * 5000), ("If-Modified-Since", "yesterday"),
            ("If-Range", "?"), ("Cache-Control", "max-age=-1, max-age=x, ,,="), ("Expect", "magic"),
            ("Connection", "close, upgrade, x-odd"), ("Upgrade", "websocket"), ("TE", "gzip;q=9")])
        method = self.source.choice(
            ["GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW", "DELETE"])
        connection.send(self.head(method, f"/varying/{self.source.randrange(60)}", odd))
        connection.receive()

    def hang_up(self, connection):
        """Goes away at once, or after the head."""
        if self.source.random() < 0.5:
            connection.send(self.head("GET", self.page()))

    def pipeline(self, connection):
        """Sends many requests at once, and garbage behind them."""
        requests = b"".join(self.head("GET", self.page()) for _ in range(10))
        connection.send(requests + b"\0\xff garbage\r\n\r\n")
        for _ in range(self.source.randrange(10)):
            connection.read_body(connection.read_head(), "GET")
