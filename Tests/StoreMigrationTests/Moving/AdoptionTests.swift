import CacheFormat
import CacheStore
import HTTPCaching
import HTTPSemantics
import Testing

@testable import StoreMigration

struct AdoptionTests {
  private let now = Timestamp(nanoseconds: 1_000)

  private func entry() -> SourceEntry {
    SourceEntry(
      url: "http://a/", status: 200, fields: [],
      body: SourceBody(place: .bytes([]), length: 0))
  }

  private func adopt(_ entry: SourceEntry) throws -> Adoption {
    Adoption(entry, row: 5, .cfnetwork, url: try NormalizedURL("http://a/"), now: now)
  }

  private func info(_ adoption: Adoption) -> [String: String] {
    Dictionary(
      adoption.kept.userInfo.map { ($0.name.description, $0.value.description) },
      uniquingKeysWith: { first, second in "\(first)+\(second)" })
  }

  /// Makes an entry with the times of the response, of its row, and of its last use.
  private func times(_ received: Int64?, _ created: Int64?, _ accessed: Int64?) throws -> Adoption {
    var entry = entry()
    entry.received = received.map { Timestamp(nanoseconds: $0) }
    entry.created = created.map { Timestamp(nanoseconds: $0) }
    entry.lastAccess = accessed.map { Timestamp(nanoseconds: $0) }
    return try adopt(entry)
  }

  @Test(
    arguments: [
      (500, 600, 700, 500, false), (nil, 600, 700, 600, false), (2_000, 600, 700, 600, false),
      (2_000, 3_000, 700, 700, false), (nil, nil, nil, 0, false), (2_000, nil, nil, 1_000, true),
      (2_000, 2_000, 2_000, 1_000, true), (-5, nil, nil, -5, false),
      // A time that is now is a time that the source has.
      (1_000, nil, nil, 1_000, false), (2_000, 1_000, nil, 1_000, false),
    ] as [(Int64?, Int64?, Int64?, Int64, Bool)])
  func `the time of a response is the first that is not in the future`(
    received: Int64?, created: Int64?, accessed: Int64?, expected: Int64, isOfFuture: Bool
  ) throws {
    let adoption = try times(received, created, accessed)
    #expect(adoption.kept.times.response == Timestamp(nanoseconds: expected))
    #expect(adoption.isOfFuture == isOfFuture)
    #expect((info(adoption)["source-made-up"] == "time") == isOfFuture)
    #expect(adoption.past.created == created.map { Timestamp(nanoseconds: $0) })
    #expect(adoption.past.accessed == Timestamp(nanoseconds: accessed ?? expected))
  }

  @Test func `what is known of the source is kept, without credentials`() throws {
    var entry = entry()
    entry.responseURL = "http://user:secret@b/last"
    entry.partition = "https://site.test"
    entry.madeUp = [.status, .fields]
    let found = info(try adopt(entry))
    #expect(found["source-format"] == "cfnetwork" && found["source-row"] == "5")
    #expect(found["source-response-url"] == "http://b/last")
    #expect(found["source-partition"] == "https://site.test")
    #expect(found["source-made-up"] == "status fields")
    entry.responseURL = "HTTP://A:80/"
    #expect(info(try adopt(entry))["source-response-url"] == nil, "the same URL")
    entry.responseURL = "no URL"
    #expect(info(try adopt(entry))["source-response-url"] == nil)
  }

  @Test func `the user's own items keep their names, but for those that are taken`() throws {
    var entry = entry()
    entry.userInfo = .pairs(
      ("a", .string("text")), ("b", .data([0xFF, 1])), ("c", .array([.integer(1)])),
      ("source-row", .string("x")), ("http-url", .string("x")), ("", .string("x")))
    let adoption = try adopt(entry)
    let fields = adoption.kept.userInfo
    #expect(fields.first { $0.name == "a" }?.value == "text")
    #expect(fields.first { $0.name == "b" }?.value.bytes == [0xFF, 1])
    #expect(fields.first { $0.name == "c" }?.value == "[1]")
    #expect(fields.filter { $0.name == "source-row" }.map(\.value) == ["5"])
    #expect(!fields.contains { $0.name == "http-url" || $0.name == "" })
    #expect(info(adoption)["source-user-info"]?.contains("\"http-url\":\"x\"") == true)
  }
}
