#!/usr/bin/env python3
"""Generates stores of YYCache: manifest.sqlite with the folders data and trash."""

import hashlib
import os

from archives import NSMutableBytes, Unexpected, archive
from contents import MIMES, NOW, Contents
from expected import Expected, close_with_log, connect, run, write, write_broken

STORE = "manifest.sqlite"
SQL = (
    "create table if not exists manifest (key text, filename text, size integer, "
    "inline_data blob, modification_time integer, last_access_time integer, extended_data blob, "
    "primary key(key))",
    "create index if not exists last_access_time_idx on manifest(last_access_time)")
# A value of more bytes becomes a file.
THRESHOLD = 20 * 1024
NOTE = ("key = URL of an image, value = its bytes, extended_data = archived NSNumber. There is no "
        "status, field or expiry: 200 is made up, and the media type is that of the extension")


class YYCache:
    """A store that is being made."""

    def __init__(self, path, wal=False):
        self.folder = os.path.dirname(path)
        for name in ("data", "trash"):
            os.makedirs(f"{self.folder}/{name}", exist_ok=True)
        self.database = connect(path, wal)
        for statement in SQL:
            self.database.execute(statement)
        if wal:
            self.database.execute("pragma wal_checkpoint(truncate)")
        self.database.execute("begin")

    def put(self, key, value, time, access=None, extended=None, threshold=THRESHOLD, name=None,
            is_written=True, size=None):
        """Adds a row; returns its number and where the body is."""
        if name is None and len(value) > threshold:
            name = hashlib.md5(key.encode()).hexdigest()
        if name is not None and is_written:
            write(f"{self.folder}/data/{name}", value)
        # An empty NSData is bound as NULL.
        inline = None if name or not value else value
        row = self.database.execute("insert or replace into manifest values(?,?,?,?,?,?,?)", (
            key, name, len(value) if size is None else size, inline, int(time),
            int(time if access is None else access), extended)).lastrowid
        return row, "fs" if name else "db"

    def change(self, key, assignment):
        """Changes columns of a row."""
        self.database.execute(f"update manifest set {assignment} where key=?", (key,))

    def close(self):
        """Commits and closes."""
        self.database.execute("commit")
        self.database.close()


def rows(contents, count, are_images=True):
    """Yields URLs, media types, bodies, times and extended data."""
    kinds = [kind for kind in MIMES if kind[0].startswith("image/")] if are_images else MIMES
    for _ in range(count):
        mime, _, extension = contents.source.choice(kinds)
        body = contents.body(mime)
        yield (contents.url(extension), mime, body or b"\x89PNG",
               NOW - contents.source.randint(0, 10 ** 7),
               contents.source.choice([None, archive(2.0), archive(3)]))


def expect(expected, placed, url, mime, body, time, access=None, flags=()):
    """Adds the entry of a row."""
    row, location = placed
    expected.add(
        row, url, "GET", 200, [("Content-Type", mime)] if mime else [], body, created=int(time),
        last_access=int(time if access is None else access), expires=None, mime=mime,
        user_info=None, body_location=location,
        flags=sorted(set(flags) | {"status_synthesized", "headers_synthesized"}))


def generate_images(out, seed, variant, count, wal):
    """Makes a cache of images."""
    contents = Contents(seed + 400 + len(variant))
    expected = Expected(out, "yycache", variant, STORE, seed, count, NOTE)
    work = f"{expected.folder}/w.sqlite" if wal else expected.path
    store = YYCache(work, wal)
    for url, mime, body, time, extended in rows(contents, count):
        placed = store.put(url, body, time, time + 100, extended)
        expect(expected, placed, url, mime, body, time, time + 100)
    if wal:
        store.database.execute("commit")
        close_with_log(store.database, work, expected.path)
    else:
        store.close()
    expected.write()


def generate_general(out, seed):
    """Makes a cache of archived objects, of which only data and strings at URLs are responses."""
    contents = Contents(seed + 450)
    expected = Expected(out, "yycache", "general", STORE, seed, 40, "values are keyed archives")
    store, rest = YYCache(expected.path), list(rows(contents, 40, are_images=False))
    for number, (url, mime, body, time, _) in enumerate(rest):
        if 12 <= number < 16:
            text = '{"name": "Größe", "n": %d}' % (number - 12)
            expect(expected, store.put(url, archive(text), time), url, mime, text.encode(), time,
                   flags=["archived_nsstring"])
        elif 16 <= number < 20:
            value = archive({"data": [{"id": number - 16}], "ok": True})
            expected.skip(store.put(url, value, time)[0], url, "unsupported_value_class",
                          "NSDictionary (a parsed JSON object; its bytes are gone)")
        elif number == 20:
            name = "MiJiaWear.MIWPeripheralList"
            value = archive(Unexpected(name, (name, "NSObject"), list=[]))
            expected.skip(store.put(url, value, time)[0], url, "unsupported_value_class",
                          "a class of an app")
        elif 21 <= number < 27:
            key = ("registerList_sg", "user_token", "homepage", "https:/nicht-ganz",
                   "ftp://ftp.example.org/a", "")[number - 21]
            expected.skip(store.put(key, archive("x"), time)[0], key,
                          "not_http_url" if key.startswith("ftp") else "not_a_url_key")
        else:
            is_mutable = 8 <= number < 12
            value = archive(NSMutableBytes(body) if is_mutable else body)
            expect(expected, store.put(url, value, time), url, mime, body, time,
                   flags=["archived_nsmutabledata" if is_mutable else "archived_nsdata"])
    store.close()
    expected.write()


def skip_cases(contents):
    """Yields the reason of a row that gives no entry, its body, and how it is stored."""
    def large():
        return contents.source.randbytes(30000)

    yield "missing_body_file", large(), {"is_written": False}
    yield "size_mismatch", large(), {}
    yield "unsafe_file_name", large(), {
        "name": "../../../../../../../../etc/passwd", "is_written": False}
    yield "no_body", b"", {}
    yield "size_mismatch", b"\x89PNG" + b"1" * 50, {"size": 9999}
    yield "not_a_url_key", b"\x89PNGk", {}


def entry_cases(contents):
    """Yields a flag of a row that gives an entry, its body, and how it is stored."""
    def large():
        return contents.source.randbytes(30000)

    yield "custom_file_name", large(), {"name": "custom-name.png"}
    yield "large_inline", large(), {"threshold": 10 ** 9}
    yield "small_on_fs", b"\x89PNGx", {"threshold": 0}
    yield "filename_empty", b"\x89PNGinline", {}
    yield "times_null", b"\x89PNGt", {}
    yield "extended_data_undecodable", b"\x89PNGe", {"extended": b"garbage"}


def generate_edge(out, seed):
    """Makes a cache with missing and damaged files, unsafe names, orphans and NULLs."""
    contents = Contents(seed + 460)
    expected = Expected(out, "yycache", "edge", STORE, seed, 40, "missing and damaged data files")
    store, rest = YYCache(expected.path), rows(contents, 40)
    rest = iter(list(rest))
    for reason, body, how in skip_cases(contents):
        url, _, _, time, _ = next(rest)
        row, location = store.put(url, body, time, **how)
        if reason == "size_mismatch" and location == "fs":
            name = hashlib.md5(url.encode()).hexdigest()
            write(f"{expected.folder}/data/{name}", body[:1234])
        if reason == "not_a_url_key":
            store.change(url, "key=NULL")
            url = ""
        expected.skip(row, url, reason)
    for flag, body, how in entry_cases(contents):
        url, mime, _, time, _ = next(rest)
        placed = store.put(url, body, time, **how)
        if flag == "filename_empty":
            store.change(url, "filename=''")
        expect(expected, placed, url, mime, body, time, flags=[flag])
        if flag == "times_null":
            store.change(url, "modification_time=NULL, last_access_time=NULL")
            for name in ("created", "last_access"):
                expected.set_time(expected.last, name, None)
    for url, mime, body, time, extended in rest:
        placed = store.put(url, body, time, extended=extended)
        expect(expected, placed, url, mime, body, time)
    write(f"{expected.folder}/data/0123456789abcdef0123456789abcdef", b"orphan")
    write(f"{expected.folder}/trash/old", b"trash")
    expected.values["orphan_files"] = 2
    store.close()
    expected.write()


def generate(out, seed=1, count=200):
    """Makes all stores."""
    generate_images(out, seed, "webimage", count, False)
    generate_images(out, seed, "webimage_small", 30, False)
    generate_images(out, seed, "wal", 30, True)
    generate_general(out, seed)
    generate_edge(out, seed)
    write_broken(out, "yycache", "yycache_webimage_small", STORE, seed, "data")


if __name__ == "__main__":
    run(generate)
