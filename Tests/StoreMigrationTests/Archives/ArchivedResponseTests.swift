import CacheFormat
import HTTPSemantics
import Testing

@testable import StoreMigration

struct ArchivedResponseTests {
  /// Makes the seven objects of a response.
  private func items(
    status: PropertyListValue = .integer(200), time: PropertyListValue = .real(0),
    length: PropertyListValue = .integer(-1)
  ) -> [PropertyListValue] {
    [
      .pairs(("_CFURLString", .string("http://a/"))), time, .integer(0), status,
      .pairs(("ETag", .string("\"x\""))), length, .string("text/html"),
    ]
  }

  private func response(
    _ items: [PropertyListValue], version: Int = 1
  ) throws -> ArchivedResponse {
    try ArchivedResponse(cacheBlob: PropertyListBytes.list(.cacheBlob(version: version, items)))
  }

  private func reason(_ items: [PropertyListValue]) -> SkipReason? {
    do {
      _ = try response(items)
      return nil
    } catch RowError.skip(let reason, _) { return reason } catch { return nil }
  }

  @Test func `a response has its URL, its time, its status and its fields`() throws {
    let found = try response(items(status: .integer(404), length: .integer(12)))
    #expect(found.url == "http://a/" && found.status == 404 && !found.isStatusMadeUp)
    #expect(found.received == Timestamp(nanoseconds: 978_307_200 * 1_000_000_000))
    #expect(found.fields.map(\.description) == ["ETag: \"x\""] && found.length == 12)
  }

  @Test func `version 0 has no status and no fields`() throws {
    var list = items()
    (list[3], list[4]) = (.string("text/css"), .string("utf-8"))
    let found = try response(list, version: 0)
    #expect(found.status == 200 && found.isStatusMadeUp)
    #expect(found.fields.map(\.description) == ["Content-Type: text/css; charset=utf-8"])
  }

  @Test(
    arguments: [.integer(99), .integer(600), .integer(-200), .string("200"), .null, .bool(true)]
      as [PropertyListValue])
  func `what is no status skips the row`(status: PropertyListValue) {
    #expect(reason(items(status: status)) == .badStatus)
  }

  @Test func `a list that is too short cannot be decoded`() {
    for count in 0..<7 { #expect(reason(Array(items()[..<count])) == .undecodableResponse) }
    #expect(reason(items()) == nil)
    #expect(throws: RowError.self) { try ArchivedResponse(cacheBlob: [1, 2, 3]) }
  }

  @Test func `a time that is no number, or beyond all years, does not end the program`() throws {
    for time in [PropertyListValue.string("0"), .null, .real(.nan)] {
      #expect(try response(items(time: time)).received == nil, "\(time)")
    }
    for seconds in [Double.infinity, -.infinity, 1e300, -1e300, .greatestFiniteMagnitude] {
      _ = try response(items(time: .real(seconds)))
    }
    let huge = PropertyListValue.integer(1 << 100)
    #expect(try response(items(time: huge, length: huge)).length == nil)
  }

  @Test func `an archive of another class is skipped by the name of the class`() {
    let number = PropertyListBytes.archive(root: 1) { _ in [[0x10, 7]] }
    let none = PropertyListBytes.archive(root: 0) { _ in [] }
    for (bytes, expected) in [
      (number, SkipReason.unexpectedClass), (none, .missingResponse), ([], .undecodableResponse),
    ] {
      do throws(RowError) {
        _ = try ArchivedResponse(keyedArchive: bytes)
        Issue.record("it was read")
      } catch {
        guard case .skip(expected, _) = error else {
          Issue.record("\(error) instead of \(expected)")
          continue
        }
      }
    }
  }
}
