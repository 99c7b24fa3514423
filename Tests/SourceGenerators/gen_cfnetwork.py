#!/usr/bin/env python3
"""Generates stores of NSURLCache: Cache.db with the folder fsCachedData."""

import gzip
import os

from archives import CF_EPOCH
from cfnetwork import FILE_LIMIT, STORE, CacheDatabase, expect, rows
from contents import REQUEST_FIELDS, Contents, http_date, uuid, without
from expected import Expected, close_with_log, connect, run, write, write_broken
from lists import FOREVER, RESPONSE_NULL, archive_response, binary_plist, cf_list, cf_request
from lists import cf_response, cf_url, flat_fields

# The variant, its schema, and what is special.
VARIANTS = {
    "good": (203, "schema 203"),
    "good_small": (203, "schema 203"),
    "wal": (203, "all rows in Cache.db-wal, as on a device in use"),
    "schema13_2013": (13, "no column isDataOnFS, requests of version 3"),
    "schema10_2011": (10, "no column partition, requests of version 2"),
    "schema_2008": (8, "receiver_data stands in cfurl_cache_blob_data"),
}


def generate_variant(out, seed, variant, count):
    """Makes a store of plain rows."""
    schema, note = VARIANTS[variant]
    contents = Contents(seed + 300 + len(variant))
    expected = Expected(out, "cfnetwork", variant, STORE, seed, count, note)
    is_wal = variant == "wal"
    work = f"{expected.folder}/w.db" if is_wal else expected.path
    store = CacheDatabase(work, schema, is_wal)
    for row in rows(contents, count, schema):
        expect(expected, store.put(contents.source, row), row,
               vary_from_proto_props=bool(row["encoding"] and schema == 203))
    if is_wal:
        store.database.execute("commit")
        close_with_log(store.database, work, expected.path)
    else:
        store.close()
    expected.write()


class EdgeCases:
    """Missing and unsafe files of bodies, NULLs, methods, policies, partitions, bad archives."""

    def __init__(self, expected, contents, count):
        self.expected, self.source = expected, contents.source
        self.contents, self.store = contents, CacheDatabase(expected.path)
        self.rest = iter(list(rows(contents, count)))

    def next(self, **changed):
        """Returns the next row, with changes."""
        return {**next(self.rest), **changed}

    def plain(self, **changed):
        """Returns the next row without a coding of its content."""
        row = self.next(encoding=None)
        row["pairs"] = without(row["pairs"], "Content-Encoding", "Vary", "Content-Length")
        return {**row, **changed}

    def large(self):
        """Returns a plain row with a body that goes to a file."""
        row = self.plain()
        if len(row["body"]) < FILE_LIMIT:
            row["body"] = self.source.randbytes(5000)
        return row

    def add(self, flag, row=None, values=None, method="GET", **given):
        """Adds a row that gives an entry, of which `values` are expected, too; returns its number."""
        row = row or self.next()
        placed = self.store.put(self.source, row, **given)
        expect(self.expected, placed, row, [flag], method, **(values or {}))
        return placed[0]

    def skip(self, reason, row=None, detail="", **given):
        """Adds a row that gives none; returns its number."""
        row = row or self.next()
        number, _ = self.store.put(self.source, row, **given)
        self.expected.skip(number, given.get("key", row["url"]), reason, detail)
        return number

    def add_files(self):
        """Files of bodies that are missing, unsafe, or not named as they should be."""
        self.skip("missing_body_file", self.large(), is_written=False)
        for name in ("../../../../../../etc/passwd", "/etc/hostname"):
            self.skip("unsafe_file_name", self.large(), file_name=name, is_written=False)
        row, name = self.large(), uuid(self.source)
        write(f"{self.store.folder}/{name}", row["body"])
        self.add("file_name_is_blob", row, file_name=name.encode(), is_written=False)
        self.skip("bad_body_file_name", self.large(), is_file=True, file_name=b"",
                  is_written=False)
        name = uuid(self.source)
        os.symlink("/etc/hostname", f"{self.store.folder}/{name}")
        self.skip("unsafe_file_name", self.large(), "a link", file_name=name, is_written=False)
        name = uuid(self.source)
        os.makedirs(f"{self.store.folder}/{name}")
        self.skip("missing_body_file", self.large(), "a folder", file_name=name, is_written=False)

    def add_bodies(self):
        """Bodies where their size does not suggest them, as text, and compressed."""
        self.add("large_inline", self.large(), is_file=False)
        self.add("small_on_fs", self.plain(body=b"tiny"), is_file=True)
        text = "ünicode text"
        number = self.add(
            "receiver_data_is_text", self.plain(body=text.encode()), is_file=False)
        self.store.update(number, "receiver_data", "receiver_data=?", text)
        packed = gzip.compress(b'{"a": "' + b"wire " * 500 + b'"}', 6, mtime=0)
        row = self.next(body=packed, encoding=None, status=200, length=len(packed))
        start = [("Date", http_date(row["time"])), ("Content-Length", str(len(packed)))]
        # Now and then a body is stored as it was sent: its beginning and its length say so.
        self.add("body_is_wire_encoded", {
            **row, "mime": "application/json", "pairs": [
                ("Content-Type", "application/json"), *start, ("Content-Encoding", "gzip"),
                ("Cache-Control", "max-age=60")]}, {"content_decoded": False}, proto_props=None)
        # A file that is compressed stays as it is.
        self.add("gzip_file", {
            **row, "url": self.next()["url"], "mime": "application/gzip",
            "pairs": [("Content-Type", "application/gzip"), *start]})

    def add_requests(self):
        """Methods, and requests that are missing or damaged."""
        for method in ("POST", "PATCH"):
            row = self.next()
            self.skip("method_not_cacheable", row, method, request=cf_request(
                row["url"], method, REQUEST_FIELDS, body=b'{"secret":1}'))
        row = self.next(body=b"", encoding=None)
        self.add("head", row, method="HEAD", request=cf_request(
            row["url"], "HEAD", REQUEST_FIELDS))
        row = self.next()
        self.add("request_without_http_part", row, request=cf_request(
            row["url"], http_part=False))
        self.add("request_null", request=None)
        self.add("request_undecodable", request=b"\0\1\2garbage")

    def add_columns(self):
        """Policies, partitions, times, and what apps add."""
        self.skip("storage_policy", detail="in memory only", policy=1)
        self.skip("storage_policy", detail="not allowed", policy=2)
        self.add("partition", None, {"partition": "example.org"}, partition="example.org")
        self.add("partition_empty", partition="")
        self.add("time_stamp_unreadable", time_stamp="kaputt")
        self.expected.set_time(self.expected.last, "created", None)
        self.add("proto_props_foreign", proto_props=binary_plist(
            {"trackingName": "request", "_kCFURLProtocolPropertyForFoundation": True}))
        self.add("user_info", user_info=binary_plist({"app": "note", "n": 3}))
        self.expected.last["user_info"] = {"app": "note", "n": 3}

    def add_responses(self):
        """Responses that are missing or damaged."""
        row = self.next()
        short = cf_list(1, [cf_url(row["url"]), 1.0])
        nulls = cf_list(1, [cf_url(row["url"]), 1.0, 0, *[RESPONSE_NULL] * 4])
        keyed = archive_response(
            row["url"], row["status"], row["pairs"], row["time"], None, row["mime"])
        for reason, blob, detail in (
                ("missing_response", None, ""), ("undecodable_response", b"not a plist", ""),
                ("undecodable_response", short, "the list is too short"),
                ("undecodable_response", keyed, "a keyed archive"), ("bad_status", nulls, "null")):
            self.skip(reason, detail=detail, response=blob)

    def add_odd_responses(self):
        """Responses without a status, a media type, whole fields, and after a redirect."""
        row = self.next(encoding=None)
        blob = cf_list(0, [cf_url(row["url"]), row["time"] - CF_EPOCH, 0, row["mime"],
                           RESPONSE_NULL, len(row["body"]), FOREVER])
        self.add("version0_plain_response", {
            **row, "status": 200, "pairs": [("Content-Type", row["mime"])]}, response=blob,
            proto_props=None)
        self.expected.last["flags"].append("status_synthesized")
        row = self.next()
        row["pairs"] = without(row["pairs"], "X-Cache")
        fields = {**flat_fields(row["pairs"], False), "__hhaa__": "\r\n\r\n!!!not base64!!!"}
        self.add("hhaa_damaged", row, response=cf_list(1, [
            cf_url(row["url"]), row["time"] - CF_EPOCH, 0, row["status"], fields,
            len(row["body"]), row["mime"]]))
        self.add("mime_null", self.next(mime=None))
        row, final = self.next(), self.contents.url("html")
        self.add("redirected", row, {"response_url": final}, response=cf_response(
            final, row["status"], row["pairs"], row["time"], None, row["mime"]))

    def add_missing_rows(self):
        """Rows without those of the other tables, and keys that are no URLs."""
        self.skip("no_body", has_body=False)
        number = self.skip("missing_response")
        self.store.database.execute(
            "delete from cfurl_cache_blob_data where entry_ID=?", (number,))
        number = self.skip("no_body", is_file=False)
        self.store.update(number, "receiver_data", "receiver_data=NULL")
        number = self.add("isDataOnFS_null", is_file=False)
        self.store.update(number, "receiver_data", "isDataOnFS=NULL")
        self.skip("not_http_url", key="data:text/plain,abc")
        number = self.add("request_key_null")
        self.store.update(number, "response", "request_key=NULL")


def generate_edge(out, seed):
    """Makes the store of edge cases, with plain rows and orphaned files behind them."""
    contents = Contents(seed + 350)
    expected = Expected(out, "cfnetwork", "edge", STORE, seed, 60, EdgeCases.__doc__)
    cases = EdgeCases(expected, contents, 60)
    cases.add_files()
    cases.add_bodies()
    cases.add_requests()
    cases.add_columns()
    cases.add_responses()
    cases.add_odd_responses()
    cases.add_missing_rows()
    for row in cases.rest:
        expect(expected, cases.store.put(contents.source, row), row)
    for number in range(3):
        write(f"{cases.store.folder}/{uuid(contents.source)}", b"orphan %d" % number)
    expected.values["orphan_files"] = 3
    cases.store.close()
    expected.write()


def generate_unknown_schema(out, seed):
    """Makes a store of an unknown version, without the table of the bodies."""
    expected = Expected(out, "cfnetwork", "broken_schema_999", STORE, seed, 0, "version 999")
    with open(f"{out}/cfnetwork_good_small/{STORE}", "rb") as file:
        write(expected.path, file.read())
    database = connect(expected.path)
    database.execute("pragma user_version=999")
    database.execute("drop table cfurl_cache_receiver_data")
    database.close()
    expected.fail("schema_mismatch")
    expected.write()


def generate(out, seed=1, count=200):
    """Makes all stores."""
    for variant, rows_of in zip(VARIANTS, (count, 30, 40, 40, 20, 20)):
        generate_variant(out, seed, variant, rows_of)
    generate_edge(out, seed)
    write_broken(out, "cfnetwork", "cfnetwork_good_small", STORE, seed, "fsCachedData")
    generate_unknown_schema(out, seed)


if __name__ == "__main__":
    run(generate)
