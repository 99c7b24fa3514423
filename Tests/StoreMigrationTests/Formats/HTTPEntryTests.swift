import CacheFormat
import HTTPSemantics
import Testing

@testable import StoreMigration

struct HTTPEntryTests {
  private static let received = Timestamp(nanoseconds: 1_000_000_000 * 1_000_000_000)

  private func response(
    _ fields: [HTTPField], status: Int = 200, length: Int? = nil
  ) throws -> ArchivedResponse {
    let items: [PropertyListValue] = [
      .string("http://a/last"), .real(1_000_000_000 - 978_307_200), .integer(0),
      .integer(Int128(status)), .pairs(), .integer(Int128(length ?? -1)), .null,
    ]
    var response = try ArchivedResponse(cacheBlob: PropertyListBytes.list(.cacheBlob(items)))
    response.fields = HTTPFields(fields)
    return response
  }

  private func file(_ length: UInt64) -> BodyPlaces.Found {
    BodyPlaces.Found(body: SourceBody(place: .file(name: [97]), length: length), start: [])
  }

  private func reason(_ body: () throws -> SourceEntry) -> SkipReason? {
    do {
      _ = try body()
      return nil
    } catch RowError.skip(let reason, _) { return reason } catch { return nil }
  }

  @Test func `answers to GET and HEAD alone are kept`() throws {
    try HTTPEntry.check(method: "GET")
    try HTTPEntry.check(method: "HEAD")
    for method in ["POST", "get", "", "GET "] {
      #expect(throws: RowError.self) { try HTTPEntry.check(method: method) }
    }
  }

  @Test func `a part and a file that was cut give no entry`() throws {
    let long = HTTPField("Content-Length", "10")
    let part = try response([], status: 206)
    let whole = try response([long])
    #expect(
      reason { try HTTPEntry.make(url: "http://a/", method: "GET", part, file(10)) }
        == .partialContent)
    #expect(
      reason { try HTTPEntry.make(url: "http://a/", method: "GET", whole, file(9)) }
        == .sizeMismatch)
    let value = BodyPlaces.Found(body: SourceBody(place: .value(row: 1), length: 9), start: [])
    for found in [file(10), file(11), value] {
      #expect(reason { try HTTPEntry.make(url: "http://a/", method: "GET", whole, found) } == nil)
    }
    #expect(reason { try HTTPEntry.make(url: "http://a/", method: "HEAD", whole, file(0)) } == nil)
  }

  @Test(arguments: [(100, true), (101, true), (199, true), (200, false), (204, false), (304, true)])
  func `an interim response and a 304 are no answers`(status: Int, isSkipped: Bool) throws {
    let found = try response([], status: status)
    let reason = reason { try HTTPEntry.make(url: "http://a/", method: "GET", found, file(3)) }
    #expect(reason == (isSkipped ? .noWholeAnswer : nil))
  }

  @Test func `an entry has what the response has`() throws {
    let entry = try HTTPEntry.make(
      url: "http://a/", method: "GET", response([HTTPField("ETag", "\"x\"")]), file(3))
    #expect(entry.url == "http://a/" && entry.responseURL == "http://a/last")
    #expect(entry.received == Self.received && entry.madeUp == [] && entry.body.length == 3)
  }

  @Test(
    arguments: [
      ([HTTPField("Cache-Control", "max-age=60")], 1_000_000_060),
      (
        [
          HTTPField("Cache-Control", "max-age=60"),
          HTTPField("Date", "Sun, 09 Sep 2001 01:46:30 GMT"),
        ], 1_000_000_050
      ),
      ([HTTPField("Expires", "Sun, 09 Sep 2001 01:47:40 GMT")], 1_000_000_060),
      (
        [
          HTTPField("Expires", "Sun, 09 Sep 2001 01:47:40 GMT"),
          HTTPField("Cache-Control", "max-age=5"),
        ], 1_000_000_005
      ),
      ([HTTPField("Expires", "0")], nil), ([], nil),
    ] as [([HTTPField], Int64?)])
  func `it is fresh by its own fields`(fields: [HTTPField], seconds: Int64?) throws {
    let until = HTTPEntry.freshUntil(try response(fields))
    #expect(until == seconds.map { Timestamp(nanoseconds: $0 * 1_000_000_000) })
  }

  @Test func `a lifetime beyond all years does not end the program`() throws {
    let until = HTTPEntry.freshUntil(
      try response([HTTPField("Cache-Control", "max-age=99999999999999999999")]))
    #expect(until.map { $0 > Self.received } == true)
  }
}
