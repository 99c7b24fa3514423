"""The client of the public suite: sends the requests of a case and has the answers checked."""

import asyncio
import time
import uuid

from . import cases, wire
from .checks import Failure, check_answer, check_records, is_setup, require
from .origin import Running

TIME_LIMIT = 10


class Answer:
    """A final answer with the interim ones before it."""

    def __init__(self, status, fields, body, interim):
        self.status = status
        self.fields = fields
        self.body = body
        self.interim = interim

    def get(self, name):
        """Returns a field as `fetch` does."""
        return wire.joined(self.fields, name)

    def number(self, name):
        """Returns a field as parseInt would for plain digits, or None."""
        text = (self.get(name) or "").strip()
        return int(text) if text.isdigit() else None


class Player:
    """Plays cases against a cache on loopback, whose origin is `origin`."""

    def __init__(self, origin, port):
        self.origin = origin
        self.port = port
        self.slowest = 0

    async def play(self, test, after=0):
        """Plays a case, some seconds later. Returns True, or kind and text of its failure."""
        await asyncio.sleep(after)
        token = str(uuid.uuid4())
        self.origin.running[token] = running = Running(test["requests"])
        answers = []
        try:
            for index, config in enumerate(test["requests"]):
                previous = answers[-1] if answers else None
                answers.append(await self.step(test, config, index + 1, token, previous))
                await asyncio.sleep(cases.pause(config))
            check_records(test, answers, running.records)
            return True
        except Failure as failure:
            return failure.args
        finally:
            del self.origin.running[token]

    async def step(self, test, config, number, token, previous):
        """Sends one request and checks its answer; returns it, or None where none was wanted."""
        began = time.monotonic()
        try:
            answer = await asyncio.wait_for(
                self.fetch(test, config, number, token, previous), TIME_LIMIT)
            self.slowest = max(self.slowest, time.monotonic() - began)
        except asyncio.TimeoutError:
            raise Failure("AbortError", f"request {number}: no answer in {TIME_LIMIT} s") from None
        except (OSError, asyncio.IncompleteReadError, wire.BrokenMessage, ValueError) as error:
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

    async def fetch(self, test, config, number, token, previous):
        """Sends a request on a connection of its own and reads the answer."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, limit=wire.LINE_LIMIT)
        try:
            target = f"/test/{token}"
            if config.get("filename"):
                target += f"/{config['filename']}"
            if config.get("query_arg"):
                target += f"?{config['query_arg']}"
            method = config.get("request_method", "GET")
            body = (config.get("request_body") or "").encode()
            fields = self.fields(test, config, number, previous)
            if body:
                fields.append(("Content-Length", str(len(body))))
            writer.write(wire.head_bytes(f"{method} {target} HTTP/1.1", fields) + body)
            return await self.receive(reader, method)
        finally:
            writer.close()

    def fields(self, test, config, number, previous):
        """Returns the fields of a request: the case's, and those of `fetch` where it has none."""
        fields = [
            ("Host", f"127.0.0.1:{self.port}"), ("Test-ID", test["id"]), ("Req-Num", str(number))]
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

    @staticmethod
    async def receive(reader, method):
        """Reads interim answers and the final one."""
        interim = []
        while True:
            head = await wire.read_head(reader)
            if head is None:
                raise wire.BrokenMessage("the connection ended without an answer")
            words, fields = head
            status = int(words[1])
            if status >= 200:
                break
            interim.append((status, fields))
        has_body = method != "HEAD" and status not in (204, 304)
        body = await wire.read_body(reader, fields, is_request=False) if has_body else b""
        return Answer(status, fields, body, interim)
