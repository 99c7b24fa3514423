import Foundation
import StoreMigration
import Testing

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct SourceCacheTests {
  @Test func `nothing, an empty file, text, random bytes`() throws {
    let sandbox = try SourceSandbox()
    #expect(sandbox.cause(sandbox.path + "/none") == .notFound)
    #expect(sandbox.cause(try sandbox.write("empty", [])) == .empty)
    #expect(sandbox.cause(try sandbox.write("text", Array("a,b,c\n".utf8))) == .notADatabase)
    let random = (0..<8192).map { _ in UInt8.random(in: 0...255) }
    #expect(sandbox.cause(try sandbox.write("random", random)) == .encrypted)
  }

  @Test func `a view, and a table without row numbers, are no table of a cache`() throws {
    let sandbox = try SourceSandbox()
    let view = try sandbox.database(
      "view", "CREATE VIEW manifest AS SELECT 1 AS key, 2 AS filename, 3 AS size;")
    #expect(sandbox.cause(view) == .unknownSchema)
    let sql = Manifest.table.replacingOccurrences(of: ");", with: ") WITHOUT ROWID;")
    #expect(sandbox.cause(try sandbox.database("without", sql)) == .missingColumns)
  }

  @Test func `a column that is called rowid does not keep the reader busy for ever`() throws {
    let sandbox = try SourceSandbox()
    let sql =
      Manifest.table.replacingOccurrences(of: "key text,", with: "key text, rowid text,")
      + "INSERT INTO manifest(key, rowid) VALUES('https://a/', 'z'), ('https://b/', 'y');"
    #expect(sandbox.cause(try sandbox.database("rowid", sql)) == .corrupt)
  }

  @Test func `bytes that were changed never end the program`() throws {
    let sandbox = try SourceSandbox()
    let rows = (1...40).map { Manifest.row("https://example.org/\($0)", "randomblob(200)") }
      .joined()
    let whole = try sandbox.database("whole", Manifest.table + rows)
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: whole)))
    for _ in 0..<200 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...20) {
        changed[Int.random(in: 100..<bytes.count)] = UInt8.random(in: 0...255)
      }
      _ = sandbox.cause(try sandbox.write("changed", changed))
    }
  }

  @Test func `rows of NULLs are skipped in every format`() throws {
    let sandbox = try SourceSandbox()
    let tables: [(SourceFormat, String, SkipReason)] = [
      (
        .offlinecache,
        """
        CREATE TABLE cache_entry(id INTEGER PRIMARY KEY, creation_time, last_access_time,
          expiration_date, search_key, request, response, data, user_info);
        INSERT INTO cache_entry(id) VALUES(1), (2);
        """, .badURL
      ),
      (
        .coredata,
        """
        CREATE TABLE ZCACHEDURLRESPONSE(Z_PK INTEGER PRIMARY KEY, Z_ENT, ZTIMESTAMP, ZENCODING,
          ZMIMETYPE, ZURL, ZDATA);
        INSERT INTO ZCACHEDURLRESPONSE(Z_PK) VALUES(1), (2);
        """, .badURL
      ),
      (
        .cfnetwork,
        """
        CREATE TABLE cfurl_cache_response(entry_ID INTEGER PRIMARY KEY, storage_policy,
          request_key, time_stamp);
        CREATE TABLE cfurl_cache_blob_data(entry_ID INTEGER PRIMARY KEY, response_object,
          request_object, proto_props, user_info);
        CREATE TABLE cfurl_cache_receiver_data(entry_ID INTEGER PRIMARY KEY, isDataOnFS,
          receiver_data);
        INSERT INTO cfurl_cache_response(entry_ID) VALUES(1), (2);
        """, .missingResponse
      ),
      (
        .yycache,
        Manifest.table + "INSERT INTO manifest(key) VALUES(NULL), (NULL);", .notAURLKey
      ),
    ]
    for (format, sql, expected) in tables {
      let path = try sandbox.database("\(format)", sql)
      let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
      #expect(cache.format == format)
      #expect(try cache.allRows().map(\.reason) == [expected, expected])
    }
  }

  @Test func `a row that is not in the place of its number is damage`() throws {
    let sandbox = try SourceSandbox()
    let rows = (1...5).map { Manifest.row("https://example.org/\($0)") }.joined()
    let whole = try sandbox.database("whole", "PRAGMA page_size=4096;" + Manifest.table + rows)
    var bytes = try [UInt8](Data(contentsOf: URL(filePath: whole)))
    // The first cell of the leaf of the table: its length, and the number of the row.
    let page = try #require(
      stride(from: 4_096, to: bytes.count, by: 4_096).first { bytes[$0] == 0x0d })
    let cell = page + Int(bytes[page + 8]) << 8 + Int(bytes[page + 9])
    #expect(bytes[cell + 1] == 1)
    bytes[cell + 1] = 50
    #expect(sandbox.cause(try sandbox.write("moved", bytes)) == .corrupt)
  }

  @Test func `it goes on after any row`() throws {
    let sandbox = try SourceSandbox()
    let keys = (1...5).map { "https://h/\($0)" }
    let path = try sandbox.database("m", Manifest.table + keys.map { Manifest.row($0) }.joined())
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    cache.startAfter(3)
    #expect(try cache.allRows().map(\.key) == Array(keys[3...]))
    cache.startAfter(.max)
    #expect(try cache.nextRow()?.row == nil)
    cache.startAfter(.min)
    #expect(try cache.allRows().count == 5)
  }
}
