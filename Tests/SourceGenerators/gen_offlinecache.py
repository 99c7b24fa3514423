#!/usr/bin/env python3
"""Generates stores of the OfflineCache of a book on iOS: cache.db with the table cache_entry."""

import base64
import datetime
import os
import plistlib
import shutil

from archives import NSMutableDict, Unexpected, archive, binary_plist, raw_archive, to_xml_archive
from archives import UID
from contents import DAY, MIMES, NOW, REQUEST_FIELDS, Contents, without
from expected import Expected, close_with_log, connect, execute_all, iso, remove_database, run
from expected import sql_time, write, write_broken
from lists import ERAS, archive_plain_response, archive_request, archive_response, flat_fields

STORE = "cache.db"
COLUMNS = ("creation_time", "last_access_time", "expiration_date", "search_key", "request",
           "response", "data", "user_info")
SCHEMA = """CREATE TABLE cache_entry (
    id INTEGER PRIMARY KEY,
    creation_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    last_access_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    expiration_date DATETIME NOT NULL,
    search_key TEXT NOT NULL,
    request BLOB,
    response BLOB,
    data BLOB,
    user_info BLOB
);
CREATE INDEX cache_entry_creation_time_idx ON cache_entry(creation_time);
CREATE INDEX cache_entry_last_access_time_idx ON cache_entry(last_access_time);
CREATE INDEX cache_entry_expiration_date_idx ON cache_entry(expiration_date);
CREATE INDEX cache_entry_search_key_idx ON cache_entry(search_key);"""


def user_info(source, number, time):
    """Returns the user info of a row, mostly none."""
    share = source.random()
    if share < 0.12:
        when = datetime.datetime.fromtimestamp(int(time), datetime.timezone.utc)
        return {"source": "prefetch", "rank": number, "nested": {"ä": [1, 2.5, True]},
                "blob": b"\0\1\2", "when": when}
    return NSMutableDict(note="Übertragen 😀") if share < 0.2 else None


def one_row(contents, number, has_partial):
    """Returns a row: its columns, and what they were made of."""
    source = contents.source
    era, (mime, charset, extension) = source.choice(ERAS), source.choice(MIMES)
    url, body = contents.url(extension), contents.body(mime)
    time = NOW - source.randint(0, 400 * DAY) + source.choice([0, 0.25, 0.123456])
    lifetime = source.choice([0, 60, 3600, DAY * 30, DAY * 365, None])
    encoding, wire_length = None, None
    is_text = mime.startswith("text/") or "json" in mime
    if len(body) > 60 and is_text and source.random() < 0.4:
        # The body that is handed out is decoded, and the field stays.
        encoding, wire_length = source.choice(["gzip", "gzip", "deflate"]), max(20, len(body) // 3)
    pairs = contents.fields(mime, charset, body, time, lifetime, encoding, wire_length,
                            is_repeated=source.random() < 0.15)
    if encoding and source.random() < 0.3:
        # An answer in chunks has no length, and Apple's pseudo value.
        pairs = without(pairs, "Content-Length") + [("Transfer-Encoding", "Identity")]
    method = "HEAD" if source.random() < 0.04 else "GET"
    body = b"" if method == "HEAD" else body
    status = source.choices(
        [200, 203, 301, 404, 410, 206], weights=[80, 3, 4, 8, 3, 3 if has_partial else 0])[0]
    # A whole number is stored as INTEGER, another one as REAL.
    expires = time + 0.5 if lifetime is None else float(int(time) + lifetime)
    final = contents.url(extension) if source.random() < 0.06 else url
    info = user_info(source, number, time)
    length = len(body) if encoding or source.random() < 0.5 else None
    response = archive_response(final, status, pairs, time, length, mime, era,
                                mutable_mime=era == "ios6" and source.random() < 0.5)
    return {
        "created": time, "accessed": time + source.randint(0, 10 ** 6), "expires": expires,
        "key": f"{method}:{url}", "method": method, "url": url, "final": final, "data": body,
        "request": archive_request(url, method, REQUEST_FIELDS, era=era), "response": response,
        "archived_info": archive(info), "info": info, "status": status, "pairs": pairs,
        "time": time, "era": era, "mime": mime, "charset": charset}


def rows(contents, count, has_partial=False):
    """Yields rows."""
    for number in range(count):
        yield one_row(contents, number, has_partial)


def as_json(value):
    """Returns user info as JSON, with data and dates as dictionaries."""
    if isinstance(value, dict):
        return {key: as_json(member) for key, member in value.items()}
    if isinstance(value, list):
        return [as_json(member) for member in value]
    if isinstance(value, bytes):
        return {"$data": base64.b64encode(value).decode()}
    if isinstance(value, datetime.datetime):
        return {"$date": iso(value.timestamp())}
    return value


def put(database, row):
    """Adds a row; returns its number."""
    marks = ",".join("?" * len(COLUMNS))
    return database.execute(
        f"INSERT INTO cache_entry ({','.join(COLUMNS)}) VALUES ({marks})",
        (sql_time(row["created"]), sql_time(row["accessed"]), row["expires"], row["key"],
         row["request"], row["response"], row["data"], row["archived_info"])).lastrowid


def expect(expected, number, row, flags=(), **changed):
    """Adds what a row gives: its entry, or that it is a part only."""
    if row["status"] == 206:
        expected.skip(number, row["key"], "partial_content", "not a whole body")
        return
    values = {
        "created": int(row["created"]), "last_access": int(row["accessed"]),
        "expires": row["expires"], "response_time": row["time"], "response_url": row["final"],
        "mime": row["mime"], "text_encoding": row["charset"], "user_info": as_json(row["info"]),
        "body_location": "db", "flags": list(flags), "era": row["era"], **changed}
    pairs, body = values.pop("pairs", row["pairs"]), values.pop("body", row["data"])
    if row["era"] != "ios17":
        # Without __hhaa__, values of one name are joined already.
        pairs = list(flat_fields(pairs, False).items())
    names = [name for name, _ in pairs]
    values["drop_headers"] = [
        name for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding")
        if name in names and row["method"] != "HEAD"
        and (name == "Transfer-Encoding" or "Content-Encoding" in names)]
    expected.add(number, row["url"], row["method"], values.pop("status", row["status"]), pairs,
                 body, **values)


def new_database(path, wal=False):
    """Makes a database and begins a transaction."""
    database = connect(path, wal)
    database.executescript(SCHEMA)
    if wal:
        database.execute("pragma wal_checkpoint(truncate)")
    database.execute("begin")
    return database


def generate_good(out, seed, count, folder=None):
    """Makes a store of plain rows."""
    expected = Expected(out, "offlinecache", "good", STORE, seed, count,
                        "expired and fresh, redirects, user info, three kinds of archives", folder)
    database = new_database(expected.path)
    for row in rows(Contents(seed), count, has_partial=True):
        expect(expected, put(database, row), row)
    database.execute("commit")
    database.close()
    expected.write()


class EdgeCases:
    """Rows with NULLs, odd types of dates, keys that occur twice, and foreign archives."""

    def __init__(self, expected, contents, count):
        self.expected, self.database = expected, new_database(expected.path)
        self.rest = iter(list(rows(contents, count)))

    def add(self, flag, changed=None, **values):
        """Adds a row that gives an entry, with changed columns; `values` are what to expect."""
        row = {**next(self.rest), **(changed or {})}
        expect(self.expected, put(self.database, row), row, [flag], **values)

    def skip(self, reason, changed, detail=""):
        """Adds a row that gives none."""
        row = {**next(self.rest), **changed}
        self.expected.skip(put(self.database, row), row["key"], reason, detail)

    def add_requests(self):
        """Without the request there is still the key."""
        self.add("request_null", {"request": None})
        self.add("request_undecodable", {"request": b"\xde\xad\xbe\xef" * 20})

    def add_responses(self):
        """Responses that are missing, damaged, or something else."""
        row = next(self.rest)
        cut = row["response"][:len(row["response"]) // 2]
        loop = raw_archive(
            ["$null", {"NS.objects": [UID(1)], "$class": UID(2)},
             {"$classname": "NSArray", "$classes": ["NSArray", "NSObject"]}], 1)
        for reason, blob in (
                ("missing_response", None), ("missing_response", archive(None)),
                ("undecodable_response", b"bplist00" + b"\xff" * 60),
                ("undecodable_response", cut), ("undecodable_response", raw_archive(["$null"], 77)),
                ("unexpected_class", archive(Unexpected(droidID="BB-8", countOfFights=3))),
                ("unexpected_class", archive("just a string")),
                ("unexpected_class", archive({"status": 200})), ("unexpected_class", loop)):
            self.skip(reason, {"response": blob})
        bad = archive_response(
            row["url"], 0, row["pairs"], row["time"], None, row["mime"])
        self.skip("bad_status", {"response": bad}, "0")

    def add_odd_responses(self):
        """Responses in another kind of archive, and one without a status."""
        row = next(self.rest)
        values = plistlib.loads(row["response"])
        # iOS 10.0 wrote the name of the constant.
        values["$top"] = {"NSKeyedArchiveRootObjectKey": values["$top"]["root"]}
        row["response"] = binary_plist(values)
        expect(self.expected, put(self.database, row), row, ["root_key_ios10"])
        row = next(self.rest)
        row["response"] = to_xml_archive(row["response"])
        expect(self.expected, put(self.database, row), row, ["xml_archive"], optional=True)
        row = next(self.rest)
        row["response"] = archive_plain_response(
            row["url"], row["time"], row["mime"], row["charset"], len(row["data"]))
        charset = "; charset=" + row["charset"] if row["charset"] else ""
        expect(self.expected, put(self.database, row), row, ["status_synthesized"], status=200,
               response_url=row["url"], pairs=[("Content-Type", row["mime"] + charset)])

    def add_data(self):
        """Data that is missing, empty or text, and user info that is not one."""
        self.add("data_null", {"data": None}, body=b"")
        self.add("data_empty", {"data": b""})
        text = "nur Text: äöü"
        self.add("data_is_text", {"data": text}, body=text.encode())
        self.add("user_info_null", {"archived_info": None, "info": None})
        for blob in (b"garbage", archive(Unexpected(droidID="R2-D2"))):
            self.add("user_info_undecodable", {"archived_info": blob, "info": None})

    def add_dates(self):
        """Dates as numbers, text and nonsense."""
        self.add("date_real", {"expires": 1373657382.523185})
        self.add("date_integer", {"expires": 4102444800.0})
        for flag, assignment, changed in (
                ("date_text", "expiration_date='2030-01-02 03:04:05'", {"expires": 1893553445}),
                ("date_unreadable", "expiration_date='irgendwann', creation_time=''",
                 {"expires": None, "created": None})):
            row = next(self.rest)
            number = put(self.database, row)
            self.database.execute(f"update cache_entry set {assignment} where id=?", (number,))
            expect(self.expected, number, row, [flag], **changed)

    def add_keys(self):
        """Keys that occur twice, have no method, or are not URLs."""
        older, newer = next(self.rest), next(self.rest)
        newer = {**newer, **{name: older[name] for name in ("key", "url", "method")}}
        number = put(self.database, older)
        self.expected.skip(number, older["key"], "duplicate_key_superseded")
        expect(self.expected, put(self.database, newer), newer, ["duplicate_key_winner"])
        # GET and HEAD of a URL are two entries.
        url = next(self.rest)["url"]
        self.add("get_and_head", {"url": url, "method": "GET", "key": "GET:" + url})
        self.add("get_and_head", {
            "url": url, "method": "HEAD", "key": "HEAD:" + url, "data": b""})
        row = next(self.rest)
        row.update(key=row["url"], method="GET")
        expect(self.expected, put(self.database, row), row, ["key_without_method"])
        self.skip("bad_url", {"key": ""})
        self.skip("not_http_url", {"key": "GET:ftp://ftp.example.org/x"})
        self.skip("method_not_cacheable", {"key": "POST:" + next(self.rest)["url"]})


def generate_edge(out, seed):
    """Makes the store of edge cases, with plain rows behind them."""
    expected = Expected(out, "offlinecache", "edge", STORE, seed, 60, EdgeCases.__doc__)
    cases = EdgeCases(expected, Contents(seed), 60)
    cases.add_requests()
    cases.add_responses()
    cases.add_odd_responses()
    cases.add_data()
    cases.add_dates()
    cases.add_keys()
    for row in cases.rest:
        expect(expected, put(cases.database, row), row)
    cases.database.execute("commit")
    cases.database.close()
    expected.write()


def put_halves(expected, database, contents, count):
    """Commits half of the rows; returns the others, in a transaction that has begun."""
    rest = list(rows(contents, count))
    for row in rest[:count // 2]:
        expect(expected, put(database, row), row)
    database.execute("commit")
    return rest[count // 2:]


def generate_hot_journal(out, seed, count):
    """Makes a copy while a transaction was open: its rows must not appear."""
    expected = Expected(out, "offlinecache", "hot_journal", STORE, seed, count,
                        "half of the rows were never committed")
    work = f"{expected.folder}/work.db"
    database = new_database(work)
    rest = put_halves(expected, database, Contents(seed), count)
    database.execute("pragma cache_size=1")
    database.execute("begin")
    for row in rest:
        put(database, row)
    # All pages are written to, so that the file is really half new and half old.
    database.execute("update cache_entry set search_key=search_key||'#torn', expiration_date=0")
    database.execute("update cache_entry set data=zeroblob(length(data))")
    for suffix in ("", "-journal"):
        shutil.copyfile(work + suffix, expected.path + suffix)
    database.execute("rollback")
    database.close()
    os.remove(work)
    expected.write()


def generate_wal(out, seed, count):
    """Makes a store with all rows in the log."""
    expected = Expected(out, "offlinecache", "wal", STORE, seed, count, "rows only in the -wal")
    work = f"{expected.folder}/work.db"
    database = new_database(work, wal=True)
    for row in rows(Contents(seed), count):
        expect(expected, put(database, row), row)
    database.execute("commit")
    close_with_log(database, work, expected.path)
    expected.write()


def generate_torn_wal(out, seed, count):
    """Makes a store whose log ends within the second transaction, of which nothing counts."""
    expected = Expected(out, "offlinecache", "wal_torn", STORE, seed, count, "a cut -wal")
    work = f"{expected.folder}/work.db"
    database = new_database(work, wal=True)
    rest = put_halves(expected, database, Contents(seed), count)
    first = os.path.getsize(work + "-wal")
    database.execute("begin")
    for row in rest:
        put(database, row)
    database.execute("commit")
    with open(work + "-wal", "rb") as file:
        log = file.read()
    shutil.copyfile(work, expected.path)
    write(expected.path + "-wal", log[:first + (len(log) - first) // 2 + 123])
    database.close()
    remove_database(work)
    expected.write()


def generate(out, seed=1, count=200):
    """Makes all stores."""
    generate_good(out, seed, count)
    generate_good(out, seed + 50, 30, "offlinecache_good_small")
    generate_edge(out, seed + 1)
    generate_hot_journal(out, seed + 2, 30)
    generate_wal(out, seed + 3, 30)
    generate_torn_wal(out, seed + 4, 30)
    write_broken(out, "offlinecache", "offlinecache_good_small", STORE, seed)
    expected = Expected(out, "offlinecache", "broken_wrong_schema", STORE, seed, 0,
                        "the table is there, and columns are missing")
    execute_all(expected.path, "create table cache_entry(id integer primary key, url text)",
                "insert into cache_entry values(1,'https://x.example/')")
    expected.fail("schema_mismatch")
    expected.write()


if __name__ == "__main__":
    run(generate)
