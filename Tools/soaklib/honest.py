"""Clients that keep to the rules, and verify every byte that they get."""

import hashlib
import time

from . import pages, wire
from .clients import PATIENCE, Client

# What they ask for, and how often.
KINDS = {
    "fixed": 30, "range": 10, "condition": 10, "head": 4, "changing": 12, "varying": 8, "upload": 6,
    "echo": 3, "private": 4, "plain": 4, "session": 4, "asked": 4, "cut": 4, "slow": 1, "status": 1}


class Wrong(Exception):
    """An answer that is not what the origin has."""


def expect(condition, text):
    """Says that an answer is wrong, unless a condition holds."""
    if not condition:
        raise Wrong(text)


class Honest(Client):
    """Asks for pages of all kinds, over connections that are used again."""

    connection = None

    def rest(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def step(self):
        kind = self.source.choices(list(KINDS), list(KINDS.values()))[0]
        what = f"{self.proxy.role}, {kind}"
        try:
            getattr(self, "ask_" + kind)()
        except Wrong as error:
            self.findings.add(f"wrong answer ({what})", str(error))
        except wire.Unanswered as error:
            self.findings.add(f"no answer ({what})", str(error))
        except (wire.Cut, OSError, ValueError) as error:
            self.findings.add(f"cut answer ({what})", repr(error))
        else:
            self.findings.count("honest requests")
            self.source.random() < 0.05 and self.rest()
            time.sleep(self.source.random() * 0.1)
            return
        self.rest()
        time.sleep(0.1)

    def ask(self, method, path, *fields, body=None, pace=None):
        """Asks for a page; once more if a kept connection was closed meanwhile."""
        fields = [self.proxy.host(), *fields]
        is_kept = self.connection is not None
        if is_kept and body is not None:
            # A body cannot be sent twice without harm, so it gets a connection of its own.
            self.rest()
            is_kept = False
        while True:
            if not self.connection:
                self.connection = wire.Connection(self.proxy.port, PATIENCE)
            answers = self.connection.answers
            try:
                answer = self.connection.ask(
                    method, self.proxy.target(path), fields, body, pace)
                break
            except (wire.Cut, ConnectionError):
                if not is_kept or self.connection.answers > answers or self.connection.data:
                    raise
                self.rest()
                is_kept = False
        if "close" in answer.field("connection").lower():
            self.rest()
        return answer

    def send(self, method, path, body):
        """Sends a body; once more if the origin closed its kept connection at that moment, after an
        early answer for example. Then a POST gets 502 (Docs/Reliability.md)."""
        answer = self.ask(method, path, body=body)
        if answer.status == 502 and "origin-connectionLost" in answer.field("cache-status"):
            self.findings.count("bodies sent twice")
            answer = self.ask(method, path, body=body)
        return answer

    def expect_body(self, answer, path, wanted, status=200):
        """Says what is wrong with a status and a body."""
        expect(answer.status == status, f"{path}: status {answer.status}, not {status}: "
               f"{answer.field('cache-status')} {answer.body[:80]!r}")
        expect(answer.body == wanted, f"{path}: {len(answer.body)} bytes {answer.body[:60]!r} in "
               f"place of {len(wanted)} {wanted[:60]!r}; {answer.field('cache-status')}")

    def fixed_path(self):
        """Returns a page, mostly one that was asked for before."""
        place = min(self.source.random(), self.source.random(), self.source.random())
        return f"/fixed/{int(place * pages.FIXED)}"

    def ask_fixed(self):
        path = self.fixed_path()
        answer = self.ask("GET", path)
        self.expect_body(answer, path, pages.body(path))
        expect(answer.field("etag") == pages.tag(path), f"{path}: ETag {answer.field('etag')}")

    def ask_slow(self):
        path = self.fixed_path()
        answer = self.ask("GET", path, pace=lambda: time.sleep(0.02))
        self.expect_body(answer, path, pages.body(path))

    def ask_head(self):
        path = self.fixed_path()
        answer, length = self.ask("HEAD", path), str(len(pages.body(path)))
        expect(answer.status == 200, f"{path}: status {answer.status} of HEAD")
        expect(answer.field("content-length") in ("", length),
               f"{path}: HEAD has length {answer.field('content-length')}, not {length}")

    def ask_range(self):
        path = self.fixed_path()
        whole = pages.body(path)
        first = self.source.randrange(len(whole))
        last = self.source.randrange(first, len(whole) + 100)
        answer = self.ask("GET", path, ("Range", f"bytes={first}-{last}"))
        if answer.status == 200:
            self.expect_body(answer, path, whole)
            return
        self.expect_body(answer, path, whole[first:last + 1], 206)
        place = f"bytes {first}-{min(last, len(whole) - 1)}/{len(whole)}"
        expect(answer.field("content-range") == place,
               f"{path}: Content-Range {answer.field('content-range')}, not {place}")

    def ask_condition(self):
        path = self.fixed_path()
        has = self.source.random() < 0.7
        answer = self.ask("GET", path, ("If-None-Match", pages.tag(path) if has else '"other"'))
        if answer.status == 304:
            expect(has, f"{path}: 304 for a tag that it never had")
            return
        self.expect_body(answer, path, pages.body(path))

    def ask_changing(self):
        path = f"/changing/{self.source.randrange(pages.CHANGING)}"
        start = pages.now()
        answer = self.ask("GET", path)
        version = pages.version_in(answer.body)
        expect(version is not None, f"{path}: status {answer.status} {answer.body[:60]!r}")
        self.expect_body(answer, path, pages.body(path, version))
        oldest, newest = pages.oldest_version(start), pages.version_at(pages.now())
        expect(oldest <= version <= newest, f"{path}: version {version}, allowed are {oldest} to "
               f"{newest}; {answer.field('cache-status')}")

    def ask_varying(self):
        path = f"/varying/{self.source.randrange(pages.VARYING)}"
        language = self.source.choice(pages.LANGUAGES)
        answer = self.ask("GET", path, ("Accept-Language", language))
        self.expect_body(answer, path, pages.body(f"{path}/{language}"))

    def ask_upload(self):
        content = self.source.randbytes(self.source.choice([0, 10, 5000, 200_000]))
        pieces = [content[start:start + 7000] for start in range(0, len(content), 7000)]
        answer = self.send(self.source.choice(["POST", "PUT"]), "/digest",
                           pieces if self.source.random() < 0.5 else content)
        self.expect_body(answer, "/digest", hashlib.sha256(content).hexdigest().encode())

    def ask_echo(self):
        content = self.source.randbytes(30_000)
        answer = self.send("POST", "/echo", [content[:10_000], content[10_000:]])
        self.expect_body(answer, "/echo", content)

    def user(self):
        """Returns a name: everybody's own in a shared cache, the same in that of one user."""
        return self.name if self.proxy.is_shared else "me"

    def ask_user(self, kind, *fields):
        """Asks for a page with a cookie; returns the answer."""
        path = f"/user/{kind}/{self.source.randrange(20)}"
        answer = self.ask("GET", path, ("Cookie", f"user={self.user()}"), *fields)
        shown = "everybody" if kind == "session" else self.user()
        self.expect_body(answer, path, f"{path} for {shown}\n".encode())
        return answer

    def ask_private(self):
        self.ask_user("private")

    def ask_plain(self):
        stale = [("Cache-Control", "max-stale")] if self.source.random() < 0.3 else []
        self.ask_user("plain", *stale)

    def ask_session(self):
        cookies = self.ask_user("session").all("set-cookie")
        expect(cookies in ([], [f"user={self.user()}"]), f"the cookie of another: {cookies}")

    def ask_asked(self):
        path = f"/asked/{self.source.randrange(20)}"
        if self.source.random() < 0.5:
            self.expect_body(self.ask("GET", path), path, path.encode() + b" ")
            return
        answer = self.ask("GET", path, body=b"something else")
        # A GET with a body may be refused; if it is not, it gets its own answer.
        if answer.status != 400:
            self.expect_body(answer, path, path.encode() + b" something else")

    def ask_cut(self):
        path = f"/cut/{self.source.randrange(30)}"
        try:
            answer = self.ask("GET", path)
        except (wire.Cut, ConnectionError):
            # The origin has cut its answer, and the client can tell.
            self.rest()
            return
        if answer.status not in (502, 504):
            self.expect_body(answer, path, pages.body(path))

    def ask_status(self):
        target = "/.offlinecache/status"
        connection = wire.Connection(self.proxy.port, PATIENCE)
        answer = connection.ask("GET", target, [("Host", f"127.0.0.1:{self.proxy.port}")])
        connection.close()
        expect(answer.status == 200 and answer.body[:1] == b"{", f"status {answer.status}")
