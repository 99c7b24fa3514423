"""Answers that do not end at once, through a proxy and over TLS: events, a long poll, hints, WebSocket.

A server and its client in one process, so that each knows what the other has seen: what a proxy kept
back, the client would wait for in vain.
"""

import base64
import hashlib
import http.server
import os
import socket
import ssl
import threading

FIRST = b"data: first\n\n"
EVENT = b"data: " + b"x" * 1000 + b"\n\n"
EVENTS = 2000


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def do_GET(self):
        released = self.server.released
        if self.path.startswith("/events"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            if directive := self.path.partition("?")[2]:
                self.send_header("Cache-Control", directive)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.chunk(FIRST)
            self.wait(released)
            for _ in range(EVENTS):
                self.chunk(EVENT)
            self.wait(self.server.finished)
            self.chunk(b"")
        elif self.path == "/poll":
            self.server.asked.set()
            self.wait(released)
            self.answer(b"polled")
        elif self.path == "/hint":
            self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            self.wait(released)
            self.answer(b"hinted")
        elif self.path == "/socket":
            key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept",
                             base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
            self.end_headers()
            while data := self.connection.recv(4096):
                self.connection.sendall(data)
            self.close_connection = True

    def wait(self, event):
        if not event.wait(20):
            raise TimeoutError("the client has not gone on")

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server:
    """The server, with TLS. Use it in a `with`."""

    def __init__(self, certificate, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.server.daemon_threads = True
        self.server.released, self.server.asked, self.server.finished = (
            threading.Event() for _ in range(3))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self.server

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Client:
    """One connection with TLS, made by `connect`, which returns a socket."""

    def __init__(self, connect, authority, name):
        context = ssl.create_default_context(cafile=authority)
        self.socket = context.wrap_socket(connect(), server_hostname=name)
        self.socket.settimeout(20)
        self.rest = b""
        self.left = 0

    def send(self, data):
        self.socket.sendall(data)

    def until(self, end):
        """Returns what comes up to some bytes, with them."""
        while end not in self.rest:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError(f"the connection ended; there was {self.rest[-200:]}")
            self.rest += data
        place = self.rest.index(end) + len(end)
        found, self.rest = self.rest[:place], self.rest[place:]
        return found

    def content(self, count):
        """Returns that many bytes of a body in chunks, or all if it ends before."""
        found = b""
        while len(found) < count:
            if not self.left:
                line = self.until(b"\r\n")
                self.left = int(line, 16)
                if not self.left:
                    break
            if not self.rest:
                self.rest = self.socket.recv(65536)
                if not self.rest:
                    raise ConnectionError("the connection ended within a chunk")
            part = self.rest[:min(self.left, count - len(found))]
            found, self.rest, self.left = found + part, self.rest[len(part):], self.left - len(part)
            if not self.left:
                self.until(b"\r\n")
        return found

    def get(self, path, host, fields=""):
        self.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n".encode())


def tunnelled(proxy_port, host):
    """Returns a function that connects to a host through a proxy."""
    def connect():
        connection = socket.create_connection(("127.0.0.1", proxy_port), 20)
        connection.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(f"CONNECT: {head}")
        return connection
    return connect


def size(folder):
    """Returns the bytes of all files below a folder."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.path.getsize(os.path.join(parent, name))
            except FileNotFoundError:
                pass
    return total


def play(check, way, server, make, host, store):
    """Plays all; `make` makes a client, `store` is the folder to which no event may be written."""
    for directive in ["", "no-cache", "max-age=60"]:
        server.released.clear()
        server.finished.clear()
        client, before = make(), size(store)
        client.get(f"/events?{directive}", host)
        client.until(b"\r\n\r\n")
        is_right = client.content(len(FIRST)) == FIRST
        server.released.set()
        is_right = is_right and client.content(len(EVENT) * EVENTS) == EVENT * EVENTS
        growth = size(store) - before
        check(is_right and growth < 65536, f"{way}: {EVENTS} events ({directive or 'without Cache-Control'}) come "
              f"as they are sent; the store has grown by {growth} bytes")
        server.finished.set()
        client.content(1)
    server.released.clear()
    server.asked.clear()
    client = make()
    client.get("/poll", host)
    is_asked = server.asked.wait(20)
    server.released.set()
    check(is_asked and client.until(b"polled"), f"{way}: a long poll")
    server.released.clear()
    client.get("/hint", host)
    hint = client.until(b"\r\n\r\n")
    server.released.set()
    check(b" 103 " in hint and client.until(b"hinted"), f"{way}: 103 comes before its answer")
    client = make()
    client.get("/socket", host, "Upgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
    head = client.until(b"\r\n\r\n")
    is_echo = b" 101 " in head and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
    for number in range(100):
        client.send(b"%d;" % number)
        is_echo = is_echo and client.until(b";") == b"%d;" % number
    check(is_echo, f"{way}: WebSocket, 100 echoes")
