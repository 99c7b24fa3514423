"""The origin server of the public suite, as its data describes it."""

import asyncio
import json
import time

from . import wire

NO_BODY = {204, 304}


def plain(status, body):
    """Returns an answer that says nothing of caching."""
    fields = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
    return wire.head_bytes(f"HTTP/1.1 {status}", fields) + body


class Running:
    """A case under way: what it asks for, what was seen, and its dates once written out."""

    def __init__(self, requests):
        self.requests = requests
        self.records = []
        self.fields = {}


class Origin:
    """Answers cases by the token in their path: /test/TOKEN[/filename][?query].

    A case begins with PUT /config/TOKEN, which has its requests, and ends with GET /state/TOKEN,
    which tells what was seen of them; both come through the cache, too.
    """

    def __init__(self):
        self.running = {}
        self.server = None
        self.connections = set()

    async def start(self, port, tls=None):
        """Listens on loopback, with TLS if there is a context; port 0 takes a free one. Returns the
        port."""
        self.server = await asyncio.start_server(
            self.serve, "127.0.0.1", port, limit=wire.LINE_LIMIT, backlog=1024, ssl=tls)
        return self.server.sockets[0].getsockname()[1]

    async def stop(self):
        """Ends the listener and all connections."""
        self.server.close()
        for connection in list(self.connections):
            connection.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)

    async def serve(self, reader, writer):
        """Serves one connection until either side ends it."""
        task = asyncio.current_task()
        self.connections.add(task)
        try:
            while await self.exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, wire.BrokenMessage, asyncio.CancelledError):
            pass
        finally:
            self.connections.discard(task)
            writer.close()

    async def exchange(self, reader, writer):
        """Answers one request; returns whether the connection stays open."""
        head = await wire.read_head(reader)
        if head is None or len(head[0]) != 3:
            return False
        (method, target, _), fields = head
        body = await wire.read_body(reader, fields, is_request=True)
        path = target.split("//", 1)[1].split("/", 1)[1] if "://" in target else target[1:]
        parts = path.split("?")[0].split("/")
        running = self.running.get(parts[1]) if len(parts) > 1 else None
        answered = True
        if parts[0] == "test" and running is not None:
            answered = await self.answer(running, method, "/" + path, fields, parts[1], writer)
        elif parts[0] == "config" and method == "PUT":
            self.running[parts[1]] = Running(json.loads(body))
            writer.write(plain("201 Created", b"OK"))
        elif parts[0] == "state" and running is not None:
            writer.write(plain("200 OK", json.dumps(self.running.pop(parts[1]).records).encode()))
        else:
            writer.write(plain("404 Not Found", b""))
        await writer.drain()
        return answered

    async def answer(self, running, method, target, fields, token, writer):
        """Writes the answer of a case; returns False where it closes without one."""
        asked = wire.joined(fields, "Req-Num") or ""
        number = int(asked) if asked.isdigit() else len(running.records) + 1
        config = running.requests[number - 1]
        if config.get("response_pause"):
            await asyncio.sleep(config["response_pause"])
        now = time.time()
        if number not in running.fields:
            running.fields[number] = self.written(config, target, now)
        sent = running.fields[number]
        running.records.append({
            "number": number, "method": method, "fields": fields,
            "recorded": [line[:2] for line in sent if len(line) < 3 or line[2] is True],
        })
        if config.get("disconnect"):
            return False
        for interim in config.get("interim_responses") or []:
            lines = interim[1] if len(interim) > 1 else []
            writer.write(wire.head_bytes(f"HTTP/1.1 {interim[0]} Interim", lines))
        status = self.status(config, fields, running.fields.get(number - 1, []))
        head, body = self.message(running, config, method, target, fields, token, status, now)
        writer.write(head + body)
        return True

    @staticmethod
    def written(config, target, now):
        """Returns the lines of an answer with dates and locations written out."""
        lines = []
        for name, value, *recorded in config.get("response_headers") or []:
            text = wire.value_text(name, value, now, config.get("rfc850date") or ())
            if config.get("magic_locations") and name.lower() in ("location", "content-location"):
                text = f"{target}/{text}" if text else target
            lines.append((name, text, *recorded))
        return lines

    @staticmethod
    def status(config, fields, previous):
        """Returns the status and phrase: the case's, or the verdict on expected conditions."""
        if not (config.get("expected_type") or "").endswith("validated"):
            return tuple(config.get("response_status") or (200, "OK"))
        previous = [line[:2] for line in previous]
        for condition, validator in (
            ("If-Modified-Since", "Last-Modified"), ("If-None-Match", "ETag"),
        ):
            stored = wire.joined(previous, validator)
            if stored is not None and wire.joined(fields, condition) == stored:
                return 304, "Not Modified"
        return 999, "Conditional Expected"

    @staticmethod
    def message(running, config, method, target, fields, token, status, now):
        """Returns head and body of an answer."""
        lines = [
            ("Server-Base-Url", target),
            ("Server-Request-Count", str(len(running.records))),
            ("Client-Request-Count", wire.joined(fields, "Req-Num") or ""),
            ("Server-Now", str(int(now * 1000))),
        ]
        number = running.records[-1]["number"]
        lines += [line[:2] for line in running.fields[number]]
        lines.append(
            ("Request-Numbers", " ".join(str(record["number"]) for record in running.records)))
        names = {name.lower() for name, _ in lines}
        if "content-type" not in names:
            lines.append(("Content-Type", "text/plain"))
        # The suite's own server, Node, dates its answers where the case does not.
        if "date" not in names:
            lines.append(("Date", wire.date_text(int(now))))
        body = b""
        if status[0] not in NO_BODY and method != "HEAD":
            text = config.get("response_body")
            body = (token if text is None else text).encode()
            if "content-length" not in names:
                lines.append(("Content-Length", str(len(body))))
        return wire.head_bytes(f"HTTP/1.1 {status[0]} {status[1]}", lines), body
