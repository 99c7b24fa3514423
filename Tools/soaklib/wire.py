"""A small HTTP/1.1 client that takes nothing for granted: an answer is whole, or it is an error."""

import socket
import struct


class Cut(Exception):
    """The connection ended before the answer was whole."""


class Unanswered(Exception):
    """Nothing came for as long as anybody waits."""


class Answer:
    """The status, the fields and the body of an answer."""

    def __init__(self, status, fields):
        self.status, self.fields, self.body = status, fields, b""

    def all(self, name):
        """Returns the values of all fields of a name, which is in lower case."""
        return [value for found, value in self.fields if found == name]

    def field(self, name):
        """Returns the value of a field, or nothing."""
        return ", ".join(self.all(name))


def head(method, target, fields):
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


class Connection:
    """A connection to a server on loopback."""

    def __init__(self, port, patience, buffer=None):
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(patience)
        self.patience, self.data, self.answers = patience, b"", 0
        try:
            self.socket.connect(("127.0.0.1", port))
        except TimeoutError as error:
            self.socket.close()
            raise Unanswered("no connection") from error

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes it as a program does that crashed with unread bytes."""
        if self.socket.fileno() >= 0:
            linger = struct.pack("ii", 1, 0)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except TimeoutError as error:
            raise Unanswered(f"sent nothing for {self.patience} s") from error

    def receive(self, count=65536):
        """Returns some bytes, or none at the end."""
        try:
            return self.socket.recv(count)
        except TimeoutError as error:
            raise Unanswered(f"nothing came for {self.patience} s") from error

    def _more(self):
        piece = self.receive()
        if not piece:
            raise Cut("the connection ended within the answer")
        self.data += piece

    def _line(self):
        while b"\n" not in self.data:
            self._more()
        line, self.data = self.data.split(b"\n", 1)
        return line.rstrip(b"\r").decode("latin-1")

    def _take(self, count):
        while len(self.data) < count:
            self._more()
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def read_head(self):
        """Returns the next answer without its body; interim answers are passed over."""
        status = 100
        while 100 <= status < 200:
            words = self._line().split(" ", 2)
            if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
                raise Cut(f"no status line: {' '.join(words)[:80]!r}")
            status, fields = int(words[1]), []
            while line := self._line():
                name, _, value = line.partition(":")
                fields.append((name.strip().lower(), value.strip()))
        self.answers += 1
        return Answer(status, fields)

    def read_body(self, answer, method, pace=None):
        """Reads the body of an answer; `pace` is called between its pieces."""
        if method == "HEAD" or answer.status in (204, 304):
            return
        if "chunked" in answer.field("transfer-encoding").lower():
            while size := int(self._line().split(";")[0], 16):
                answer.body += self._take(size)
                self._line()
            while self._line():
                pass
            return
        length = answer.field("content-length")
        pieces = [self.data]
        self.data, count = b"", len(pieces[0])
        while not length or count < int(length):
            if pace:
                pace()
            piece = self.receive()
            if not piece:
                break
            pieces.append(piece)
            count += len(piece)
        answer.body = b"".join(pieces)
        if length:
            if count < int(length):
                raise Cut(f"{count} of {length} bytes came")
            answer.body, self.data = answer.body[:int(length)], answer.body[int(length):]

    def ask(self, method, target, fields, body=None, pace=None):
        """Sends a request and returns the answer; a body that is a list goes in chunks."""
        if isinstance(body, list):
            fields = [*fields, ("Transfer-Encoding", "chunked")]
        elif body is not None:
            fields = [*fields, ("Content-Length", len(body))]
        self.send(head(method, target, fields) + (body if isinstance(body, bytes) else b""))
        if isinstance(body, list):
            for piece in body:
                self.send(chunk(piece))
            self.send(b"0\r\n\r\n")
        answer = self.read_head()
        self.read_body(answer, method, pace)
        return answer
