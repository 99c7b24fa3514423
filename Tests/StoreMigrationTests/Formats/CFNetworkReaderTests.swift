import CacheFormat
import Foundation
import HTTPSemantics
import Testing

@testable import StoreMigration

/// One response in Cache.db.
private struct CacheRow {
  var key: DatabaseValue = .text("https://h/a")
  var policy: DatabaseValue = .integer(0)
  var partition: DatabaseValue = .null
  var url = "https://h/response"
  var fields: PropertyListValue = .pairs()
  var method = "GET"
  var requestFields: PropertyListValue = .pairs()
  var properties: [UInt8]?
  var body: DatabaseValue = .blob([1, 2, 3])
  var isFile: DatabaseValue = .integer(0)

  var response: [UInt8] {
    PropertyListBytes.list(
      .cacheBlob([
        .pairs(("_CFURLString", .string(url))), .real(700_000_000), .integer(0), .integer(200),
        fields, .integer(-1), .string("text/plain"),
      ]))
  }

  var request: [UInt8] {
    PropertyListBytes.list(.cacheBlob([.integer(2), .string(method), requestFields, .null]))
  }
}

struct CFNetworkReaderTests {
  private static let responses = """
    CREATE TABLE cfurl_cache_response(entry_ID INTEGER PRIMARY KEY, storage_policy INTEGER,
      request_key, time_stamp TEXT, partition TEXT);
    """
  private static let blobs =
    "CREATE TABLE cfurl_cache_blob_data(entry_ID, response_object, request_object, proto_props, user_info"
  private static let receivers =
    "CREATE TABLE cfurl_cache_receiver_data(entry_ID, isDataOnFS, receiver_data);"

  /// Makes a Cache.db, and reads it.
  private func read(
    _ rows: [CacheRow], in sandbox: SourceSandbox, isOneTable: Bool = false
  ) throws -> [SourceRow] {
    let sql =
      Self.responses + Self.blobs
      + (isOneTable ? ", receiver_data);" : ");" + Self.receivers)
    let path = try sandbox.makeDatabase("Cache.db", sql)
    let database = try Database(path: path, .recover)
    for (index, row) in rows.enumerated() {
      let id = DatabaseValue.integer(Int64(index + 1))
      try database.insert(
        [id, row.policy, row.key, .text("2023-03-08 20:26:41"), row.partition],
        into: "cfurl_cache_response")
      let blobs: [DatabaseValue] = [
        id, .blob(row.response), .blob(row.request), row.properties.map { .blob($0) } ?? .null,
        .null,
      ]
      try database.insert(blobs + (isOneTable ? [row.body] : []), into: "cfurl_cache_blob_data")
      if !isOneTable {
        try database.insert([id, row.isFile, row.body], into: "cfurl_cache_receiver_data")
      }
    }
    return try sandbox.rows(path)
  }

  private func read(_ rows: [CacheRow], isOneTable: Bool = false) throws -> [SourceRow] {
    try read(rows, in: try SourceSandbox(), isOneTable: isOneTable)
  }

  @Test func `only what may be stored on disk is read`() throws {
    let policies: [DatabaseValue] = [
      .integer(0), .null, .integer(1), .integer(2), .integer(-1), .integer(.max),
      .text("no"), .real(0.5), .blob([0]),
    ]
    let rows = try read(policies.map { CacheRow(policy: $0) })
    let expected: [SkipReason?] = [nil, nil] + Array(repeating: .storagePolicy, count: 7)
    #expect(rows.map(\.reason) == expected)
    #expect(
      try read([CacheRow(method: "POST"), CacheRow(method: "head")]).map(\.reason) == [
        .methodNotCacheable, nil,
      ])
  }

  @Test(arguments: [false, true])
  func `a body is beside the archives, or in a table of its own`(isOneTable: Bool) throws {
    let found = try #require(try read([CacheRow()], isOneTable: isOneTable)[0].entry)
    #expect(found.body.length == 3 && !found.body.isFile && found.method == "GET")
    #expect(found.created == Timestamp(nanoseconds: 1_678_307_201_000_000_000))
    let bodies: [DatabaseValue] = [.blob([]), .null, .integer(7), .text("text")]
    let rows = try read(bodies.map { CacheRow(body: $0) }, isOneTable: isOneTable)
    #expect(rows.map(\.reason) == [nil, .noBody, .noBody, nil])
  }

  @Test func `a body is a file if the flag says so, under the name of a UUID`() throws {
    let sandbox = try SourceSandbox()
    let folder = sandbox.path + "/fsCachedData"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let name = "0A1B2C3D-0000-4000-8000-0123456789ab"
    _ = try sandbox.write("fsCachedData/\(name)", [1, 2, 3, 4])
    _ = try sandbox.write("secret", [9])
    let bodies: [(DatabaseValue, DatabaseValue, SkipReason?)] = [
      (.text(name), .integer(1), nil), (.text(name), .integer(-3), nil),
      (.blob(Array(name.utf8)), .integer(1), nil), (.text(name), .integer(0), nil),
      (.text(name), .null, nil), (.text(name), .text("yes"), nil),
      (.text(""), .integer(1), .badBodyFileName), (.null, .integer(1), .noBody),
      (.text("../secret"), .integer(1), .unsafeFileName),
      (.text(name + "\0"), .integer(1), .unsafeFileName),
      (.text(name.replacingOccurrences(of: "-", with: "/")), .integer(1), .unsafeFileName),
      (.text(String(name.dropLast()) + "c"), .integer(1), .missingBodyFile),
      (.integer(7), .integer(1), .badBodyFileName),
    ]
    let rows = try read(bodies.map { CacheRow(body: $0.0, isFile: $0.1) }, in: sandbox)
    #expect(rows.map(\.reason) == bodies.map(\.2))
    #expect(
      rows.prefix(6).map { $0.entry?.body.isFile } == [true, true, true, false, false, false])
    #expect(rows[0].entry?.body.length == 4 && rows[3].entry?.body.length == 36)
  }

  @Test(
    arguments: [
      "Accept-Language, User-Agent", "user-agent,accept-language", "User-Agent  ,  Accept-Language",
      "Accept-Language,\tUser-Agent",
    ])
  func `the fields that selected are those that were sent`(vary: String) throws {
    var row = CacheRow(fields: .pairs(("Vary", .string(vary))))
    row.requestFields = .pairs(
      ("User-Agent", .string("asked")), ("Accept-Language", .string("en")), ("X", .string("y")))
    row.properties = PropertyListBytes.list(
      .pairs(
        ("Accept-Encoding", .pairs(("Accept-Encoding", .string("gzip")))),
        ("Accept-Language,User-Agent", .pairs(("user-agent", .string("sent"))))))
    let found = try #require(try read([row])[0].entry)
    #expect(found.requestFields?.map(\.description) == ["X: y", "user-agent: sent"])
  }

  @Test func `without usable properties the fields are those of the request`() throws {
    var row = CacheRow(fields: .pairs(("Vary", .string("Accept"))))
    row.requestFields = .pairs(("Accept", .string("a")))
    let properties: [[UInt8]?] = [
      nil, [], [1, 2, 3], PropertyListBytes.list(.string("Accept")),
      PropertyListBytes.list(.pairs(("Accept", .string("b")))),
      PropertyListBytes.list(.pairs(("Other", .pairs(("Accept", .string("b")))))),
    ]
    for bytes in properties {
      row.properties = bytes
      let found = try #require(try read([row])[0].entry)
      #expect(found.requestFields?.map(\.description) == ["Accept: a"])
    }
    row.fields = .pairs()
    row.properties = PropertyListBytes.list(.pairs(("", .pairs(("Accept", .string("b"))))))
    #expect(try read([row])[0].entry?.requestFields?.map(\.description) == ["Accept: a"])
  }

  @Test func `a row without a key has the URL of its response`() throws {
    let keys: [DatabaseValue] = [.text(""), .null, .text("ftp://h/"), .blob([0x68])]
    let rows = try read(keys.map { CacheRow(key: $0) })
    #expect(
      rows.map { $0.entry?.url } == [
        "https://h/response", "https://h/response", nil, "https://h/response",
      ])
    #expect(rows[2].reason == .notHTTPURL)
  }

  @Test func `a partition that is empty is none`() throws {
    let rows = try read([CacheRow(partition: .text("")), CacheRow(partition: .text("site"))])
    #expect(rows.map { $0.entry?.partition } == [nil, "site"])
  }

  @Test func `rows without a partner are skipped, and of two partners one counts`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.makeDatabase(
      "Cache.db", Self.responses + Self.blobs + ");" + Self.receivers)
    let database = try Database(path: path, .recover)
    for id in 1...3 as ClosedRange<Int64> {
      try database.insert(
        [.integer(id), .integer(0), .text("https://h/\(id)"), .null, .null],
        into: "cfurl_cache_response")
      if id == 1 { continue }
      for _ in 1..<id {
        try database.insert(
          [.integer(id), .blob(CacheRow().response), .null, .null, .null],
          into: "cfurl_cache_blob_data")
      }
      if id == 3 {
        for number in 0..<3 as Range<UInt8> {
          try database.insert(
            [.integer(id), .integer(0), .blob([number])], into: "cfurl_cache_receiver_data")
        }
      }
    }
    let rows = try sandbox.rows(path)
    #expect(rows.map(\.reason) == [.missingResponse, .noBody, nil])
    #expect(rows[2].entry?.requestFields == nil && rows[2].entry?.created == nil)
  }
}
