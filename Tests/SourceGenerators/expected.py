"""The files of a generated store, and expected.json, which says what a migration finds in them."""

import datetime
import hashlib
import json
import os
import shutil
import sqlite3
import sys

from contents import NOW

BROKEN = {
    "truncated": "the file is cut at about 60 %",
    "zero_byte": "a file without bytes: an empty database for SQLite, so the tables are missing",
    "not_a_database": "HTML instead of SQLite",
    "header_only": "only the 100 bytes of the header",
    "page_garbage": "some pages are overwritten: the rows on them are unreadable",
}


def iso(time):
    """Returns a Unix time with milliseconds in UTC, or None."""
    if time is None:
        return None
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=round(time * 1000))
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def sql_time(time):
    """Returns a Unix time as SQLite's CURRENT_TIMESTAMP."""
    moment = datetime.datetime.fromtimestamp(int(time), datetime.timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def fresh_folder(path):
    """Makes a folder, without what was there before."""
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def write(path, content):
    """Writes a file."""
    with open(path, "wb") as file:
        file.write(content)


class Expected:
    """A generated store in a folder of its own, and what it holds."""

    def __init__(self, out, format_name, variant, store, seed, count, note="", folder=None):
        self.folder = fresh_folder(f"{out}/{folder or f'{format_name}_{variant}'}")
        self.path = f"{self.folder}/{store}"
        self.values = {
            "schema": 1, "format": format_name, "variant": variant, "store": store, "seed": seed,
            "n": count, "reference_now": iso(NOW), "note": note, "open": "ok", "entries": [],
            "skipped": []}

    def add(self, row, url, method, status, pairs, body, **values):
        """Adds a row that gives an entry."""
        fields = {}
        for name, value in pairs:
            fields[name] = fields[name] + ", " + value if name in fields else value
        entry = {
            "row": row, "url": url, "method": method, "status": status, "headers": fields,
            "header_values": [list(pair) for pair in pairs],
            "body_sha256": hashlib.sha256(body).hexdigest(), "body_size": len(body)}
        for name in ("created", "last_access", "expires", "response_time"):
            if name in values:
                self.set_time(entry, name, values.pop(name))
        if entry.get("expires_unix") is not None:
            entry["expired"] = entry["expires_unix"] <= NOW
        entry.update(values)
        self.values["entries"].append(entry)

    def set_time(self, entry, name, time):
        """Sets a time of an entry, or that it has none."""
        entry[name] = iso(time)
        entry[name + "_unix"] = None if time is None else round(float(time), 6)

    @property
    def last(self):
        """The entry that was added last."""
        return self.values["entries"][-1]

    def skip(self, row, key, reason, detail=""):
        """Adds a row that gives none."""
        self.values["skipped"].append(
            {"row": row, "key": key, "reason": reason, "detail": detail})

    def fail(self, reason, detail=""):
        """Says that the store cannot be opened."""
        self.values.update({"open": "error", "open_reason": reason, "detail": detail})

    def write(self):
        """Writes expected.json."""
        entries = self.values["entries"]
        self.values["counts"] = {
            "convert": len(entries), "skip": len(self.values["skipped"]),
            "body_bytes": sum(entry["body_size"] for entry in entries),
            "distinct_bodies": len({entry["body_sha256"] for entry in entries})}
        with open(f"{self.folder}/expected.json", "w", encoding="utf-8") as file:
            json.dump(self.values, file, indent=1, ensure_ascii=False)
            file.write("\n")


def connect(path, wal=False):
    """Opens a database in which every statement stands for itself; perhaps with a log."""
    database = sqlite3.connect(path, isolation_level=None)
    if wal:
        database.execute("pragma journal_mode=wal")
        database.execute("pragma wal_autocheckpoint=0")
    return database


def execute_all(path, *statements):
    """Makes a database with these statements."""
    database = connect(path)
    for statement in statements:
        database.execute(statement)
    database.close()


def remove_database(path):
    """Removes a database with its log."""
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)


def close_with_log(database, work, path):
    """Copies an open database with its log, as a killed program leaves it, and closes it."""
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(work + suffix):
            shutil.copyfile(work + suffix, path + suffix)
    database.close()
    remove_database(work)


def damaged(content, how):
    """Returns a database file with a damage."""
    if how == "truncated":
        return content[:len(content) * 6 // 10 // 512 * 512 + 100]
    if how == "zero_byte":
        return b""
    if how == "not_a_database":
        return b"<!doctype html><title>404</title>" + b"x" * 5000
    if how == "header_only":
        return content[:100]
    size = int.from_bytes(content[16:18], "big") or 65536
    pages = list(range(2, len(content) // size))
    start = len(pages) // 3
    found = bytearray(content)
    for page in pages[start:start + max(1, len(pages) // 10)]:
        found[page * size:(page + 1) * size] = b"\xaa" * size
    return bytes(found)


def write_broken(out, format_name, good, store, seed, bodies=None):
    """Makes damaged copies of a store, perhaps with its folder of bodies."""
    with open(f"{out}/{good}/{store}", "rb") as file:
        content = file.read()
    for how, note in BROKEN.items():
        expected = Expected(out, format_name, "broken_" + how, store, seed, 0, note)
        write(expected.path, damaged(content, how))
        if bodies:
            shutil.copytree(f"{out}/{good}/{bodies}", f"{expected.folder}/{bodies}")
        expected.fail(
            "corrupt_or_unusable_store",
            "a clear error; rows that can still be read may be converted, if they are right")
        expected.values["may_recover_subset_of"] = f"../{good}/expected.json"
        expected.write()


def run(generate):
    """Runs a generator: generator.py OUT [seed [rows]]."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} OUT [seed [rows]]")
    os.makedirs(sys.argv[1], exist_ok=True)
    numbers = [int(word) for word in sys.argv[2:4]]
    generate(sys.argv[1], *numbers)
