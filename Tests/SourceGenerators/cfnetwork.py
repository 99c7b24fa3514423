"""A Cache.db as CFNetwork has written it in several years, and rows for it."""

import email.utils
import hashlib
import os

from contents import DAY, MIMES, NOW, REQUEST_FIELDS, uuid
from expected import connect, sql_time, write
from lists import binary_plist, cf_request, cf_response

STORE = "Cache.db"
# Bodies of so many bytes and more go to the folder fsCachedData.
FILE_LIMIT = 4096
RESPONSES = (
    "CREATE TABLE cfurl_cache_response(entry_ID INTEGER PRIMARY KEY AUTOINCREMENT UNIQUE, \t "
    "version INTEGER, hash_value INTEGER, storage_policy INTEGER, request_key TEXT UNIQUE, \t "
    "time_stamp NOT NULL DEFAULT CURRENT_TIMESTAMP%s)")
BLOBS = (
    "CREATE TABLE cfurl_cache_blob_data(entry_ID INTEGER PRIMARY KEY, response_object BLOB, "
    "request_object BLOB, \t %sproto_props BLOB, user_info BLOB)")
BODIES = (
    "CREATE TABLE cfurl_cache_receiver_data(entry_ID INTEGER PRIMARY KEY, %sreceiver_data BLOB)")
VERSION = "CREATE TABLE cfurl_cache_schema_version(schema_version INTEGER)"
INDEXES = (
    "CREATE INDEX request_key_index ON cfurl_cache_response(request_key)",
    "CREATE INDEX time_stamp_index ON cfurl_cache_response(time_stamp)",
    "CREATE INDEX proto_props_index ON cfurl_cache_blob_data(entry_ID)")
# The tables, and the version of the archived requests.
SCHEMAS = {
    203: ((RESPONSES % ", partition TEXT", BLOBS % "", BODIES % "isDataOnFS INTEGER, "), 9),
    13: ((VERSION, RESPONSES % ", partition TEXT", BLOBS % "", BODIES % ""), 3),
    10: ((VERSION, RESPONSES % "", BLOBS % "", BODIES % ""), 2),
    8: ((VERSION, RESPONSES % "", BLOBS % "receiver_data BLOB, "), 2),
}


class CacheDatabase:
    """A store that is being made."""

    def __init__(self, path, schema=203, wal=False):
        self.schema, self.folder = schema, os.path.dirname(path) + "/fsCachedData"
        self.database = connect(path)
        tables, self.request_version = SCHEMAS[schema]
        if schema == 203:
            self.database.execute("pragma auto_vacuum=2")
        if wal:
            self.database.execute("pragma journal_mode=wal")
            self.database.execute("pragma wal_autocheckpoint=0")
        for statement in (*tables, *INDEXES):
            self.database.execute(statement)
        if schema == 203:
            self.database.execute("pragma user_version=203")
            os.makedirs(self.folder, exist_ok=True)
        else:
            self.database.execute(
                "insert into cfurl_cache_schema_version values(?)", (schema,))
        if wal:
            self.database.execute("pragma wal_checkpoint(truncate)")
        self.database.execute("begin")

    def close(self):
        """Commits and closes."""
        self.database.execute("commit")
        self.database.close()

    def update(self, number, table, assignment, *values):
        """Changes columns of a row."""
        self.database.execute(
            f"update cfurl_cache_{table} set {assignment} where entry_ID=?", (*values, number))

    def put(self, source, row, **given):
        """Adds a row, of which columns may be given; returns its number and where the body is.

        The columns are key, time_stamp, policy, partition, request, response, proto_props and
        user_info; `file_name` and `is_file` say where the body goes, `has_body` and `is_written`
        whether it is there.
        """
        number = self._put_response(source, row, given)
        blobs = [number, given.get("response", self._response(row)),
                 given.get("request", cf_request(
                     row["url"], "GET", REQUEST_FIELDS, version=self.request_version)),
                 given.get("proto_props", self._vary(row)), given.get("user_info")]
        if self.schema == 8:
            blobs.insert(3, row["body"])
        self._insert("blob_data", blobs)
        if self.schema == 8:
            return number, "db"
        if not given.get("has_body", True):
            return number, None
        return number, self._put_body(source, number, row["body"], given)

    def _insert(self, table, values):
        marks = ",".join("?" * len(values))
        self.database.execute(f"insert into cfurl_cache_{table} values({marks})", values)

    def _put_response(self, source, row, given):
        key = given.get("key", row["url"])
        digest = int.from_bytes(hashlib.md5(key.encode()).digest()[:8], "big", signed=True)
        has_partition = self.schema in (203, 13)
        columns = {
            "version": 0, "storage_policy": given.get("policy", 0), "request_key": key,
            "hash_value": digest if has_partition and source.random() < 0.5 else digest >> 32,
            "time_stamp": given.get("time_stamp", sql_time(row["stamp"]))}
        if has_partition:
            columns["partition"] = given.get("partition")
        marks = ",".join("?" * len(columns))
        return self.database.execute(
            f"insert into cfurl_cache_response({','.join(columns)}) values({marks})",
            tuple(columns.values())).lastrowid

    def _put_body(self, source, number, body, given):
        if self.schema != 203:
            self._insert("receiver_data", [number, body])
            return "db"
        if not given.get("is_file", len(body) >= FILE_LIMIT):
            self._insert("receiver_data", [number, 0, body])
            return "db"
        name = given["file_name"] if "file_name" in given else uuid(source)
        if given.get("is_written", True):
            write(f"{self.folder}/{name}", body)
        self._insert("receiver_data", [number, 1, name])
        return "fs"

    def _response(self, row):
        length = len(row["body"]) if row["length"] == -1 else row["length"]
        return cf_response(row["url"], row["status"], row["pairs"], row["time"], length,
                           row["mime"], with_all_values=self.schema == 203)

    def _vary(self, row):
        vary = dict(row["pairs"]).get("Vary")
        if not vary or self.schema != 203:
            return None
        return binary_plist({vary: {"Accept-Encoding": "gzip, deflate"}})


def rows(contents, count, schema=203):
    """Yields rows."""
    source = contents.source
    for _ in range(count):
        mime, charset, extension = source.choice(MIMES)
        url, body = contents.url(extension), contents.body(mime)
        time = NOW - source.randint(0, 400 * DAY) + source.choice([0.5, 0.123456, 0.773691])
        encoding, wire_length = None, None
        if body and (mime.startswith("text/") or "json" in mime) and source.random() < 0.5:
            # The body is decoded, and its field still has the size as it was sent.
            encoding = source.choice(["gzip", "gzip", "br", "deflate"])
            wire_length = max(20, len(body) // 3) + 1
        pairs = contents.fields(
            mime, charset, body, time, source.choice([0, 60, 3600, 365 * DAY, None]), encoding,
            wire_length, is_repeated=schema == 203 and source.random() < 0.2)
        yield {
            "url": url, "time": time, "pairs": pairs, "body": body, "mime": mime,
            "encoding": encoding,
            "status": source.choices([200, 301, 404, 203, 410], weights=[88, 3, 5, 2, 2])[0],
            "stamp": time if source.random() < 0.8 else time - DAY * 200,
            "length": (len(body) if encoding else None) if source.random() < 0.9 else -1}


def fresh_until(pairs, time):
    """Returns until when a response is fresh, or None if its fields do not say so."""
    fields = dict(pairs)
    if "max-age=" in fields.get("Cache-Control", ""):
        date = fields.get("Date")
        start = email.utils.parsedate_to_datetime(date).timestamp() if date else time
        return start + int(fields["Cache-Control"].split("max-age=")[1].split(",")[0])
    expires = fields.get("Expires")
    return email.utils.parsedate_to_datetime(expires).timestamp() if expires else None


def expect(expected, placed, row, flags=(), method="GET", **values):
    """Adds the entry of a row."""
    number, location = placed
    expected.add(
        number, row["url"], method, row["status"], row["pairs"], row["body"],
        created=int(row["stamp"]), expires=fresh_until(row["pairs"], row["time"]),
        response_time=row["time"], mime=row["mime"], user_info=None, body_location=location,
        drop_headers=["Content-Encoding", "Content-Length"] if row["encoding"] else [],
        flags=list(flags), **values)
