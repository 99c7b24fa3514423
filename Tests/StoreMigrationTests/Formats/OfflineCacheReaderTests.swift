import CacheFormat
import HTTPSemantics
import Testing

@testable import StoreMigration

struct OfflineCacheReaderTests {
  private static let table = """
    CREATE TABLE cache_entry(id INTEGER PRIMARY KEY, creation_time, last_access_time,
      expiration_date, search_key, request, response, data, user_info);
    """

  /// The response in an archive, with its objects under the names since iOS 10.
  private static let response = PropertyListBytes.object(
    "NSURLResponse",
    [("$1", { _ in [0x10, 1] }), ("$2", { _ in [0x10, 7] }), ("$6", { _ in [0x11, 0, 200] })])

  private func row(
    _ key: DatabaseValue, response: DatabaseValue = .blob(response),
    data: DatabaseValue = .blob([1, 2]), info: DatabaseValue = .null
  ) -> [DatabaseValue] {
    [.null, .integer(10), .integer(20), .real(30.5), key, .null, response, data, info]
  }

  private func read(_ rows: [[DatabaseValue]]) throws -> [SourceRow] {
    let sandbox = try SourceSandbox()
    return try sandbox.rows(sandbox.makeDatabase("db", Self.table, into: "cache_entry", rows))
  }

  @Test(
    arguments: [
      ("GET:https://h/a", "GET", "https://h/a"), ("HEAD:https://h/", "HEAD", "https://h/"),
      ("https://h/a:80", "GET", "https://h/a:80"), ("get:https://h/", "GET", "get:https://h/"),
      (":https://h/", "GET", ":https://h/"), ("", "GET", ""), ("GET", "GET", "GET"),
      ("GET:", "GET", ""), ("GÉT:https://h/", "GET", "GÉT:https://h/"), ("GET:a:b", "GET", "a:b"),
      ("PROPFIND:https://h/", "PROPFIND", "https://h/"),
    ])
  func `a key has a method and a URL, or the URL of a GET`(
    key: String, method: String, url: String
  ) throws {
    let sandbox = try SourceSandbox()
    let reader = try OfflineCacheReader(sandbox.open(try sandbox.makeDatabase("db", Self.table)))
    let found = reader.identity(ofKey: key)
    #expect(found.method == method && found.url == url)
  }

  @Test func `a row has its times, its response and its body`() throws {
    let rows = try read([row(.text("HEAD:https://h/a"), data: .null)])
    let found = try #require(rows[0].entry)
    #expect(found.method == "HEAD" && found.url == "https://h/a" && found.status == 200)
    #expect(found.created == Timestamp(nanoseconds: 10_000_000_000))
    #expect(found.lastAccess == Timestamp(nanoseconds: 20_000_000_000))
    #expect(found.expires == Timestamp(nanoseconds: 30_500_000_000))
    #expect(found.body.length == 0 && found.requestFields == nil)
  }

  @Test func `what is no response, no body or no method skips the row`() throws {
    let rows = try read([
      row(.text("GET:https://h/1"), response: .null),
      row(.text("GET:https://h/2"), response: .integer(1)),
      row(.text("GET:https://h/3"), response: .blob([])),
      row(.text("GET:https://h/4"), data: .integer(5)),
      row(.text("POST:https://h/5")), row(.null), row(.text("GET:")),
      row(.text("GET:https://h/8"), data: .text("x")),
    ])
    #expect(
      rows.map(\.reason) == [
        .missingResponse, .missingResponse, .undecodableResponse, .noBody, .methodNotCacheable,
        .badURL, .badURL, nil,
      ])
  }

  @Test func `of rows with one key the last that is good counts, whatever the method is`() throws {
    let key = DatabaseValue.text("GET:https://h/a")
    let rows = try read([
      row(key), row(.text("https://h/a")), row(.text("HEAD:https://h/a")),
      row(key, response: .null),
    ])
    #expect(rows.map(\.reason) == [.duplicateKeySuperseded, nil, nil, .missingResponse])
  }

  @Test func `only a dictionary is user info, and a damaged one costs nothing else`() throws {
    let dictionary = PropertyListBytes.object(
      "NSDictionary",
      [("NS.keys", { [0xa1, $0] }), ("NS.objects", { [0xa1, $0 + 1] })],
      more: [[0x51, 0x6b], [0x10, 5]])
    let others = [
      [], [1, 2, 3], Array(dictionary.dropLast()),
      PropertyListBytes.object("NSArray", "NS.objects", [0xa0]),
      PropertyListBytes.archive(root: 0) { _ in [] },
    ]
    let rows = try read(
      ([dictionary] + others).enumerated().map {
        row(.text("GET:https://h/\($0.offset)"), info: .blob($0.element))
      })
    #expect(rows[0].entry?.userInfo == .pairs(("k", .integer(5))))
    for row in rows.dropFirst() {
      let entry = try #require(row.entry)
      #expect(entry.userInfo == nil)
    }
  }
}
