import CacheClient
import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import CachingProxy

struct AnswerNoteTests {
  private func head(_ fields: [HTTPField], target: String = "/") throws -> RequestHead {
    try RequestHead(
      method: "GET", target: Array(target.utf8), version: "HTTP/1.1",
      fields: [HTTPField("Host", "a")] + fields)
  }

  private func answer(_ body: AnswerBody, status: Int = 200) -> ProxyAnswer {
    ProxyAnswer(
      head: HTTPResponseHead(status: status), body: body, source: .network,
      cacheStatus: Sample.miss, reason: "r")
  }

  @Test func `what a request takes is no room for the answer`() throws {
    var empty = AnswerNote()
    empty.take(try head([]))
    var note = AnswerNote()
    note.take(try head([HTTPField("X", "12345")]))
    let field = empty.headRoom - note.headRoom
    #expect(field > 6)
    // The library keeps a copy of cookies, and a record of each.
    var cookies = AnswerNote()
    cookies.take(try head([HTTPField("Cookie", "a=1;b=2;c=3")]))
    #expect(empty.headRoom - cookies.headRoom > field + 11 + 2 * 60)
    var long = AnswerNote()
    long.take(try head([], target: "/" + String(repeating: "a", count: 100)))
    #expect(empty.headRoom - long.headRoom == 100)
  }

  @Test
  func `whole bytes are counted only if all were sent, and none for an answer without content`() {
    var note = AnswerNote()
    note.take(answer(.bytes([1, 2, 3])))
    #expect(note.record(client: "c", true, 0).bytesSent == 3)
    #expect(note.record(client: "c", false, 0).bytesSent == 0)
    for status in [204, 304] {
      var note = AnswerNote()
      note.take(answer(.bytes([1, 2, 3]), status: status))
      #expect(note.record(client: "c", true, 0).bytesSent == 0)
    }
    var head = AnswerNote()
    head.isHead = true
    head.take(answer(.bytes([1, 2, 3])))
    #expect(head.record(client: "c", true, 0).bytesSent == 0)
  }

  @Test func `the time is never negative, whatever the clock does`() {
    var note = AnswerNote()
    for (start, end, expected) in [
      (1_000, 5_000, 4), (5_000, 1_000, 0), (0, .max, UInt64(Int64.max) / 1_000),
    ] as [(Int64, Int64, UInt64)] {
      note.start = start
      #expect(note.record(client: "c", true, end).microseconds == expected)
    }
    note.start = .max
    _ = note.record(client: "c", true, .min)
  }

  @Test func `Cache-Status says stored only if the body was stored`() {
    var status = Sample.miss
    status.isStored = true
    func record(_ storing: StoringState, failure: Bool = false) -> AnswerRecord {
      var note = AnswerNote()
      (note.cacheStatus, note.reason, note.storing) = (status, "r", storing)
      if failure { note.failure = ("detail", "it broke off") }
      return note.record(client: "c", !failure, 0)
    }
    let head = PutHead(
      keyHash: KeyHash(high: 0, low: 0), digest: Digest(high: 0, low: 0), variant: 0, length: 1,
      created: .distantPast, accessed: .distantPast, expires: nil, bodyFile: 1, overhead: 0,
      status: 200, isPinned: false)
    let info = EntryInfo(
      record: PutRecord(head: head, key: "k", metadata: EntryMetadata()), accessed: .distantPast)
    #expect(record(.stored(info)).cacheStatus?.isStored == true)
    #expect(record(.stored(info)).reason == "r")
    #expect(record(.pending).cacheStatus?.isStored == false && record(.pending).reason == "r")
    let full = StoreError(.noSpace, path: "/s", cause: "full", remedy: "x")
    let failed = record(.notStored(.failed(full)))
    #expect(failed.storingFailure == full && failed.reason.hasPrefix("r; not stored: "))
    let large = StoreError(.entryTooLarge, path: "/s", cause: "large", remedy: "x")
    #expect(record(.notStored(.failed(large))).storingFailure == nil)
    let broken = record(.notStored(.incomplete), failure: true)
    #expect(broken.reason == "r; it broke off" && broken.cacheStatus?.detail == "detail")
    #expect(!broken.isComplete)
  }

  @Test func `a request that cannot be read has its target, without credentials`() {
    var note = AnswerNote()
    note.refused(400, target: Array("http://u:secret@a/".utf8))
    let record = note.record(client: "c", true, 0)
    #expect(record.status == 400 && !record.url.contains("secret"))
    note.url = "known"
    note.refused(400, target: Array("other".utf8))
    #expect(note.record(client: "c", true, 0).url == "known")
  }
}
