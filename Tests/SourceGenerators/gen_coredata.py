#!/usr/bin/env python3
"""Generates stores of Core Data with an entity CachedURLResponse, as a known tutorial has it."""

import os
import plistlib
import zlib

from archives import CF_EPOCH
from contents import MIMES, NOW, Contents, uuid
from expected import Expected, close_with_log, connect, execute_all, run, write, write_broken

STORE = "NSURLProtocolExample.sqlite"
TABLE = (
    "CREATE TABLE ZCACHEDURLRESPONSE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,%s "
    "ZTIMESTAMP TIMESTAMP, ZENCODING VARCHAR, ZMIMETYPE VARCHAR, ZURL VARCHAR, ZDATA BLOB )")
MODEL = (
    "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, "
    "Z_MAX INTEGER)",
    "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)")
METADATA = {
    "NSStoreModelVersionIdentifiers": [""], "NSPersistenceFrameworkVersion": 526,
    "NSStoreType": "SQLite", "NSStoreModelVersionHashesVersion": 3, "_NSAutoVacuumLevel": "2"}


class CoreData:
    """A store that is being made."""

    def __init__(self, path, source, wal=False, columns=""):
        self.database = connect(path, wal)
        for statement in (TABLE % columns, *MODEL):
            self.database.execute(statement)
        if wal:
            self.database.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
            self.database.execute(
                "insert into Z_MODELCACHE values(?)", (zlib.compress(b"model" * 50),))
        hashes = {"CachedURLResponse": source.randbytes(32)}
        plist = plistlib.dumps({**METADATA, "NSStoreModelVersionHashes": hashes},
                               fmt=plistlib.FMT_BINARY)
        self.database.execute("insert into Z_METADATA values(1,?,?)", (uuid(source), plist))
        self.database.execute("insert into Z_PRIMARYKEY values(1,'CachedURLResponse',0,0)")
        if wal:
            self.database.execute("pragma wal_checkpoint(truncate)")
        self.database.execute("begin")

    def put(self, row, entity=1):
        """Adds a row; returns its number."""
        time = None if row["time"] is None else row["time"] - CF_EPOCH
        number = self.database.execute(
            "insert into ZCACHEDURLRESPONSE (Z_ENT,Z_OPT,ZTIMESTAMP,ZENCODING,ZMIMETYPE,ZURL,ZDATA)"
            " values(?,1,?,?,?,?,?)",
            (entity, time, row["charset"], row["mime"], row["url"], row["data"])).lastrowid
        self.database.execute("update Z_PRIMARYKEY set Z_MAX=? where Z_ENT=1", (number,))
        return number

    def close(self):
        """Commits and closes."""
        self.database.execute("commit")
        self.database.close()


def rows(contents, count):
    """Yields rows."""
    for _ in range(count):
        mime, charset, extension = contents.source.choice(MIMES)
        url, body = contents.url(extension), contents.body(mime)
        time = NOW - contents.source.randint(0, 10 ** 8) + contents.source.random()
        yield {"url": url, "mime": mime, "charset": charset, "data": body, "time": time}


def expect(expected, number, row, flags=(), status=None, location="db"):
    """Adds the entry of a row; without a status one is made up."""
    pairs = []
    if row["mime"]:
        charset = "; charset=" + row["charset"] if row["charset"] else ""
        pairs.append(("Content-Type", row["mime"] + charset))
    made_up = {"headers_synthesized"} | (set() if status else {"status_synthesized"})
    expected.add(
        number, row["url"], "GET", status or 200, pairs, row["data"], created=row["time"],
        expires=None, response_time=row["time"], mime=row["mime"], text_encoding=row["charset"],
        user_info=None, body_location=location, flags=sorted(set(flags) | made_up))


def generate_good(out, seed, count, folder=None):
    """Makes a store of plain rows."""
    contents = Contents(seed)
    expected = Expected(out, "coredata", "good", STORE, seed, count,
                        "no status and no fields: 200 and Content-Type are made up", folder)
    store = CoreData(expected.path, contents.source)
    for row in rows(contents, count):
        expect(expected, store.put(row), row)
    store.close()
    expected.write()


def generate_wal(out, seed):
    """Makes a store whose rows are in the log, as since iOS 7."""
    contents = Contents(seed)
    expected = Expected(out, "coredata", "wal", STORE, seed, 40, "rows only in the -wal file")
    work = f"{expected.folder}/w.sqlite"
    store = CoreData(work, contents.source, wal=True)
    for row in rows(contents, 40):
        expect(expected, store.put(row), row)
    store.database.execute("commit")
    close_with_log(store.database, work, expected.path)
    expected.write()


# A flag of a row that gives an entry, and the columns that make it special.
ENTRIES = (
    ("encoding_null", {"charset": None}), ("mime_null", {"mime": None}),
    ("timestamp_null", {"time": None}), ("data_empty", {"data": b""}),
    ("date_before_2001", {"time": 0.0}))
# The same of a row that gives none, with its reason.
SKIPPED = (
    ("no_body", {"data": None}), ("bad_url", {"url": None}),
    ("not_http_url", {"url": "about:blank"}), ("bad_url", {"url": "http://exa mple.org/ä b"}))


def generate_edge(out, seed):
    """Makes a store with NULLs, several rows of one URL, another entity, and odd types."""
    contents = Contents(seed)
    expected = Expected(out, "coredata", "edge", STORE, seed, 40,
                        "NULLs, duplicate URLs, foreign entity, odd types")
    store = CoreData(expected.path, contents.source)
    rest = iter(list(rows(contents, 40)))
    for flag, changed in ENTRIES:
        row = {**next(rest), **changed}
        expect(expected, store.put(row), row, [flag])
    for reason, changed in SKIPPED:
        row = {**next(rest), **changed}
        expected.skip(store.put(row), row["url"] or "", reason)
    # Of three rows of one URL the newest wins; one without a time is the oldest.
    row = next(rest)
    winner = {**row, "data": contents.body(row["mime"], 777)}
    older = store.put({**row, "time": row["time"] - 100})
    expect(expected, store.put(winner), winner, ["duplicate_key_winner"])
    for number in (older, store.put({**row, "time": None, "data": contents.body(row["mime"])})):
        expected.skip(number, row["url"], "duplicate_key_superseded")
    # A whole number is stored as INTEGER.
    row = next(rest)
    row["time"] = float(int(row["time"]))
    expect(expected, store.put(row), row, ["date_integer"])
    # Entities that inherit from one another share a table.
    store.database.execute("insert into Z_PRIMARYKEY values(2,'CachedURLResponseDraft',1,0)")
    row = next(rest)
    expected.skip(store.put(row, entity=2), row["url"], "foreign_entity")
    for row in rest:
        expect(expected, store.put(row), row)
    store.close()
    expected.write()


def generate_status(out, seed):
    """Makes a store with a column for the status, as some have it."""
    contents = Contents(seed)
    expected = Expected(out, "coredata", "statuscode", STORE, seed, 10, "a column ZSTATUSCODE")
    store = CoreData(expected.path, contents.source, columns=" ZSTATUSCODE INTEGER,")
    for place, row in enumerate(rows(contents, 10)):
        number, status = store.put(row), (200, 404, 301, 200, None)[place % 5]
        store.database.execute(
            "update ZCACHEDURLRESPONSE set ZSTATUSCODE=? where Z_PK=?", (status, number))
        expect(expected, number, row, status=status)
    store.close()
    expected.write()


def generate_external(out, seed):
    """Makes a store that keeps large bodies in files.

    The first byte of each value is 1 before a body, or 2 before the UUID of a file. The folder, and
    that all values begin so, show that a store is like this.
    """
    contents = Contents(seed)
    expected = Expected(out, "coredata", "external", STORE, seed, 20, "external binary storage")
    folder = f"{expected.folder}/.NSURLProtocolExample_SUPPORT/_EXTERNAL_DATA"
    os.makedirs(folder)
    store = CoreData(expected.path, contents.source)
    for place, row in enumerate(rows(contents, 20)):
        name, body = uuid(contents.source).encode(), row["data"]
        if place == 7:
            number = store.put({**row, "data": b"\2" + name + b"\0"})
            expected.skip(number, row["url"], "missing_body_file")
        elif place == 8:
            number = store.put({**row, "data": b"\2../../../../../../../../../../etc/passwd\0"})
            expected.skip(number, row["url"], "unsafe_file_name")
        elif len(body) > 100000 or place in (3, 4):
            write(f"{folder}/{name.decode()}", body)
            end = b"" if place == 4 else b"\0"
            number = store.put({**row, "data": b"\2" + name + end})
            expect(expected, number, row, location="fs")
        else:
            expect(expected, store.put({**row, "data": b"\1" + body}), row)
    store.close()
    expected.write()


def generate(out, seed=1, count=200):
    """Makes all stores."""
    generate_good(out, seed + 200, count)
    generate_good(out, seed + 201, 30, "coredata_good_small")
    generate_wal(out, seed + 202)
    generate_edge(out, seed + 203)
    generate_status(out, seed + 204)
    generate_external(out, seed + 205)
    write_broken(out, "coredata", "coredata_good_small", STORE, seed)
    expected = Expected(out, "coredata", "broken_other_model", STORE, seed, 0, "another entity")
    execute_all(
        expected.path, *MODEL,
        "create table ZITEM (Z_PK integer primary key, Z_ENT integer, ZNAME varchar)",
        "insert into Z_PRIMARYKEY values(1,'Item',0,0)")
    expected.fail("schema_mismatch")
    expected.write()


if __name__ == "__main__":
    run(generate)
