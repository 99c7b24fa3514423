"""The origin: honest pages, and others that do what servers should not."""

import email.utils
import hashlib
import random
import socketserver
import struct
import threading
import time
import socket

from . import pages, wire

# How long a slow answer takes, in seconds.
SLOW = 4


class Handler(socketserver.StreamRequestHandler):
    """Answers the requests of one connection."""

    timeout = 60
    # Headers go at once, so that an early answer is early.
    disable_nagle_algorithm = True

    def handle(self):
        """Answers until somebody closes."""
        try:
            while self.read_request() and self.answer():
                pass
        except (OSError, ValueError, IndexError):
            pass

    def finish(self):
        """Closes; a connection that is gone already is none."""
        try:
            super().finish()
        except OSError:
            pass

    def read_request(self):
        """Reads a head; returns whether there was one."""
        line = self.rfile.readline(65537).decode("latin-1").split()
        if len(line) != 3:
            return False
        self.method, self.path = line[0], line[1]
        self.fields = {}
        while (text := self.rfile.readline(262144).decode("latin-1").strip()):
            name, _, value = text.partition(":")
            self.fields[name.strip().lower()] = value.strip()
        self.source = random.Random()
        return True

    def pieces(self):
        """Yields the body of the request as it comes."""
        if "chunked" in self.fields.get("transfer-encoding", ""):
            while size := int(self.rfile.readline(100).split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline(10)
            self.rfile.readline(10)
            return
        left = int(self.fields.get("content-length", 0))
        while left:
            piece = self.rfile.read(min(left, 16384))
            if not piece:
                raise OSError("the upload was cut")
            yield piece
            left -= len(piece)

    def send(self, status, body=b"", *fields, length=None):
        lines = [f"HTTP/1.1 {status} X", "Date: " + email.utils.formatdate(usegmt=True),
                 f"Content-Length: {len(body) if length is None else length}", *fields]
        text = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.request.sendall(text + (b"" if self.method == "HEAD" else body))
        return True

    def answer(self):
        """Answers by the first part of the path; returns whether the connection goes on."""
        kind = self.path.split("?")[0].split("/")[1]
        method = getattr(self, "on_" + kind, None)
        if method is None:
            for _ in self.pieces():
                pass
            return self.send(404, b"not here", "Cache-Control: no-store")
        return method()

    def send_page(self, path, version, *fields):
        """Sends a version of a page, or 304 if the client has it."""
        for _ in self.pieces():
            pass
        tag, content = pages.tag(path, version), pages.body(path, version)
        fields = (*fields, f"ETag: {tag}", "Content-Type: application/octet-stream")
        if tag in self.fields.get("if-none-match", ""):
            lines = ["HTTP/1.1 304 X", "Date: " + email.utils.formatdate(usegmt=True), *fields]
            self.request.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            return True
        wanted = self.fields.get("range", "")
        if wanted.startswith("bytes=") and "," not in wanted and not self.fields.get("if-range"):
            first, _, last = wanted[6:].partition("-")
            if first.isdigit() and int(first) < len(content):
                end = min(int(last) if last.isdigit() else len(content), len(content) - 1)
                part = content[int(first):end + 1]
                place = f"Content-Range: bytes {first}-{end}/{len(content)}"
                if part:
                    return self.send(206, part, place, *fields)
        return self.send(200, content, *fields)

    # What is honest.

    def on_fixed(self):
        """A page that never changes."""
        return self.send_page(self.path, 0, "Cache-Control: max-age="
                              + str((5, 60, 600)[len(pages.body(self.path)) % 3]))

    def on_changing(self):
        """A page that changes every few seconds."""
        return self.send_page(self.path, pages.version_at(pages.now()),
                              f"Cache-Control: max-age={pages.LIFETIME}, must-revalidate")

    def on_varying(self):
        """A page in several languages."""
        language = self.fields.get("accept-language", "en")
        return self.send_page(f"{self.path}/{language}", 0, "Cache-Control: max-age=30",
                              "Vary: Accept-Language")

    def on_user(self):
        """A page for one user, without a word on caching, or with one."""
        user = self.fields.get("cookie", "nobody").removeprefix("user=")
        fields = {"private": ("Cache-Control: private, max-age=60",), "plain": (),
                  "session": ("Cache-Control: max-age=60", f"Set-Cookie: user={user}")}
        kind = self.path.split("/")[2]
        shown = "everybody" if kind == "session" else user
        for _ in self.pieces():
            pass
        return self.send(200, f"{self.path} for {shown}\n".encode(), *fields[kind])

    def on_asked(self):
        """A page that depends on the body of the request, which nobody should send with GET."""
        asked = b"".join(self.pieces())
        return self.send(200, self.path.encode() + b" " + asked, "Cache-Control: max-age=60")

    def on_digest(self):
        """The digest of an upload."""
        digest = hashlib.sha256()
        for piece in self.pieces():
            digest.update(piece)
        return self.send(200, digest.hexdigest().encode(), "Cache-Control: no-store")

    def on_echo(self):
        """The upload itself, from its first byte on."""
        self.request.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in self.pieces():
            self.request.sendall(wire.chunk(piece))
        self.request.sendall(b"0\r\n\r\n")
        return True

    def on_cut(self):
        """A page that often ends in the middle."""
        content = pages.body(self.path)
        if self.source.random() < 0.5:
            return self.send(200, content, "Cache-Control: max-age=5")
        self.send(200, content[:len(content) // 2], "Cache-Control: max-age=5",
                  length=len(content))
        return False

    # What is not.

    def on_early(self):
        """An answer before the body was read, which often never is."""
        self.send(self.source.choice([200, 201, 413]), b"early", "Cache-Control: no-store")
        if self.source.random() < 0.5:
            for _ in self.pieces():
                time.sleep(0.01)
            return True
        return False

    def on_slow(self):
        """An answer that takes seconds."""
        content = pages.body("/slow", 1)[:4000]
        self.request.sendall(
            f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode())
        for start in range(0, len(content), 400):
            time.sleep(SLOW / 10)
            self.request.sendall(content[start:start + 400])
        return True

    def on_chunkcut(self):
        """Chunks without an end."""
        self.request.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
        return False

    def on_reset(self):
        """No answer at all."""
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def on_hugehead(self):
        """Fields of half a megabyte."""
        return self.send(200, b"x", *(f"X-{number}: {'y' * 500}" for number in range(1000)))

    def on_garbage(self):
        """Something else than HTTP."""
        self.request.sendall(self.source.randbytes(3000))
        return False

    def on_silent(self):
        """An answer that comes too late."""
        time.sleep(SLOW * 2)
        return False

    def on_lengths(self):
        self.send(200, b"hello", "Content-Length: 3")
        return False

    def on_interim(self):
        self.request.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 200)
        return self.send(200, b"at last")

    def on_range(self):
        """A part that nobody asked for."""
        return self.send(206, b"hello", "Content-Range: bytes 7-3/2", "Cache-Control: max-age=9")


RUDE = ("early", "slow", "chunkcut", "reset", "hugehead", "garbage", "silent", "lengths", "interim",
        "range")


class Origin(socketserver.ThreadingTCPServer):
    """Serves on a free port of loopback, each connection on a thread of its own."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Says nothing: clients that go away are what this is for."""
