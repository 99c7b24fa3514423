"""The client of the public suite: sends the requests of a case and has the answers checked."""

import asyncio
import json
import time
import uuid

from . import cases, wire
from .checks import Failure, check_answer, check_records, is_setup, require

TIME_LIMIT = 10
ERRORS = (OSError, asyncio.IncompleteReadError, wire.BrokenMessage, ValueError)


class Answer:
    """A final answer with the interim ones before it."""

    def __init__(self, status, fields, body, interim):
        self.status = status
        self.fields = fields
        self.body = body
        self.interim = interim

    @property
    def is_framed(self):
        """Tells whether the end of the body does not need the end of the connection."""
        if self.status in (204, 304) or self.get("Content-Length") is not None:
            return True
        return (self.get("Transfer-Encoding") or "").lower() == "chunked"

    def get(self, name):
        """Returns a field as `fetch` does."""
        return wire.joined(self.fields, name)

    def number(self, name):
        """Returns a field as parseInt would for plain digits, or None."""
        text = (self.get(name) or "").strip()
        return int(text) if text.isdigit() else None


class Connection:
    """A connection to the cache that is kept open from one request to the next."""

    def __init__(self, port, tunnel=None):
        self.port = port
        self.tunnel = tunnel
        self.reader = None
        self.writer = None

    async def exchange(self, method, target, fields, body=b""):
        """Sends a request and reads the answer; makes the connection where there is none."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(
                "127.0.0.1", self.port, limit=wire.LINE_LIMIT)
            if self.tunnel:
                await self.begin_tls(*self.tunnel)
        if body:
            fields = fields + [("Content-Length", str(len(body)))]
        is_kept = False
        try:
            self.writer.write(wire.head_bytes(f"{method} {target} HTTP/1.1", fields) + body)
            answer = await self.receive(method)
            is_kept = answer.is_framed and "close" not in (answer.get("Connection") or "")
            return answer
        finally:
            if not is_kept:
                self.close()

    async def begin_tls(self, port, context):
        """Asks the proxy for the origin, and begins TLS."""
        host = f"127.0.0.1:{port}"
        self.writer.write(wire.head_bytes(f"CONNECT {host} HTTP/1.1", [("Host", host)]))
        words, _ = await wire.read_head(self.reader)
        if words[1] != "200":
            raise wire.BrokenMessage(f"CONNECT was answered with {words[1]}")
        await self.writer.start_tls(context, server_hostname="127.0.0.1")

    async def receive(self, method):
        """Reads interim answers and the final one."""
        interim = []
        while True:
            head = await wire.read_head(self.reader)
            if head is None:
                raise wire.BrokenMessage("the connection ended without an answer")
            words, fields = head
            status = int(words[1])
            if status >= 200:
                break
            interim.append((status, fields))
        if method == "HEAD" or status in (204, 304):
            return Answer(status, fields, b"", interim)
        body = await wire.read_body(self.reader, fields, is_request=False)
        return Answer(status, fields, body, interim)

    def close(self):
        """Ends the connection; the next request makes a new one."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None


class Player:
    """Plays cases against a cache on loopback."""

    def __init__(self, port, tunnel=None):
        """`tunnel` is the port of the origin behind a proxy, and the context for TLS."""
        self.port = port
        self.tunnel = tunnel
        self.host = f"127.0.0.1:{tunnel[0] if tunnel else port}"
        self.slowest = 0

    async def play(self, test, after=0):
        """Plays a case, some seconds later. Returns True, or kind and text of its failure."""
        await asyncio.sleep(after)
        token = str(uuid.uuid4())
        connection = Connection(self.port, self.tunnel)
        host = [("Host", self.host)]
        answers = []
        try:
            script = json.dumps(test["requests"]).encode()
            put = await connection.exchange("PUT", f"/config/{token}", host, script)
            require(put.status == 201, True, f"the case cannot be told: status {put.status}")
            for index, config in enumerate(test["requests"]):
                previous = answers[-1] if answers else None
                answers.append(
                    await self.step(connection, test, config, index + 1, token, previous))
                await asyncio.sleep(cases.pause(config))
            state = await connection.exchange("GET", f"/state/{token}", host)
            require(state.status == 200, True, f"the state is not told: status {state.status}")
            check_records(test, answers, json.loads(state.body))
            return True
        except Failure as failure:
            return failure.args
        except ERRORS as error:
            return "Setup", f"outside of the requests: {error}"
        finally:
            connection.close()

    async def step(self, connection, test, config, number, token, previous):
        """Sends one request and checks its answer; returns it, or None where none was wanted."""
        target = f"/test/{token}"
        if config.get("filename"):
            target += f"/{config['filename']}"
        if config.get("query_arg"):
            target += f"?{config['query_arg']}"
        body = (config.get("request_body") or "").encode()
        method = config.get("request_method", "GET")
        fields = self.fields(test, config, number, previous)
        began = time.monotonic()
        try:
            answer = await asyncio.wait_for(
                connection.exchange(method, target, fields, body), TIME_LIMIT)
            self.slowest = max(self.slowest, time.monotonic() - began)
        except asyncio.TimeoutError:
            raise Failure("AbortError", f"request {number}: no answer in {TIME_LIMIT} s") from None
        except ERRORS as error:
            if config.get("expected_type") == "failed":
                return None
            raise Failure("TypeError", f"request {number}: fetch failed: {error}") from None
        if config.get("expected_type") == "failed":
            require(
                answer.status >= 500 and answer.get("Server-Request-Count") is None,
                is_setup(config, "expected_type"),
                f"answer {number} has status {answer.status}, where none was to be had")
            return None
        check_answer(config, number, token, answer, test.get("may_retry", False))
        return answer

    def fields(self, test, config, number, previous):
        """Returns the fields of a request: the case's, and those of `fetch` where it has none."""
        fields = [
            ("Host", self.host), ("Test-ID", test["id"]), ("Req-Num", str(number))]
        now = time.time()
        if config.get("magic_ims") and previous is not None:
            now = previous.number("Server-Now") / 1000
        rfc850 = [name.lower() for name in config.get("rfc850date") or ()]
        for name, value in config.get("request_headers") or []:
            fields.append((name, wire.value_text(name, value, now, rfc850)))
        coding = "identity" if wire.joined(fields, "Range") else "gzip, deflate"
        defaults = [("Accept", "*/*"), ("Accept-Language", "*"), ("Accept-Encoding", coding)]
        if config.get("cache") == "no-cache":
            defaults.append(("Cache-Control", "max-age=0"))
        return fields + [pair for pair in defaults if wire.joined(fields, pair[0]) is None]
