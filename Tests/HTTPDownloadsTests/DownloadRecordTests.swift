import CacheFormat
import ClientTesting
import Foundation
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(5)))
struct DownloadRecordTests {
  private func record(_ fields: HTTPFields = [], answeredBy url: String = "http://a/x?1")
    -> DownloadRecord
  {
    DownloadRecord(
      file: "f", url: "http://a/x", answeredBy: url,
      head: HTTPResponseHead(status: 200, fields: fields), started: Timestamp(nanoseconds: 0))
  }

  @Test(
    arguments: [
      (99, nil, false), (100, nil, true), (159, nil, true), (160, nil, false), (.min, nil, false),
      (.max, nil, false), (109, 10, true), (110, 10, false), (159, 600, true), (160, 600, false),
    ] as [(Int64, Int64?, Bool)])
  func `a file is good until the shorter expiry, and not before it was given`(
    now: Int64, asked: Int64?, isGood: Bool
  ) {
    func time(_ seconds: Int64) -> Timestamp {
      Timestamp(
        nanoseconds: seconds.multipliedReportingOverflow(by: 1_000_000_000).overflow
          ? seconds : seconds * 1_000_000_000)
    }
    var record = record()
    #expect(!record.isGood(at: time(now), for: nil), "without an expiry")
    record.expire(DownloadExpiry(after: 60), from: time(100))
    #expect(
      record.isGood(at: time(now), for: asked.map { DownloadExpiry(after: $0) }) == isGood)
    record.expire(nil, from: time(500))
    #expect(record.expires == time(160))
  }

  @Test func `a confirmation ends the age that the answer had`() {
    var record = record([HTTPField("Age", "100")])
    record.confirm(at: Timestamp(nanoseconds: 5))
    #expect(record.lastGiven == Timestamp(nanoseconds: 5) && !record.head.fields.contains("Age"))
  }

  @Test func `an answer is about the same file by its URL without the query, or by its times`()
    throws
  {
    let times: HTTPFields = [HTTPField("ETag", "\"1\""), HTTPField("Last-Modified", "x")]
    func isMet(_ record: DownloadRecord, _ url: String, _ fields: HTTPFields) throws -> Bool {
      record.head.isMet(
        from: record.answeredBy,
        by: TransportResponse(
          head: HTTPResponseHead(status: 206, fields: fields), url: try NormalizedURL(url),
          body: ScriptedBody(ScriptedTransport.Answer(), url: url)))
    }
    #expect(try isMet(record(), "http://a/x?2", []))
    #expect(try !isMet(record(), "http://b/x", times) && !isMet(record(times), "http://b/x", []))
    #expect(try isMet(record(times), "http://mirror/y", times))
    let other: HTTPFields = [HTTPField("ETag", "\"1\""), HTTPField("Last-Modified", "y")]
    #expect(try !isMet(record(times), "http://mirror/y", other))
    let untagged: HTTPFields = [HTTPField("Last-Modified", "x")]
    #expect(try !isMet(record(untagged), "http://mirror/y", untagged))
  }

  @Test func `each answer to each file has a mark of its own`() {
    var later = record()
    later.started = Timestamp(nanoseconds: 1)
    let records = [
      record(), later, record([HTTPField("ETag", "a")]), record([HTTPField("Last-Modified", "a")]),
    ]
    #expect(Set(records.map(\.mark)).count == 4)
    #expect(record(answeredBy: "http://b/").mark == record().mark)
    #expect(record([HTTPField("Set-Cookie", "a=b")]).head.fields.isEmpty)
  }

  @Test func `a download that an earlier version began is resumed`() async throws {
    let sandbox = DownloadSandbox()
    let stem = sandbox.path(".offlinecache-f7f3387d17298c1b8947c03f40451220")
    let sums: [UInt8] = [
      0x07, 0, 0, 0, 0, 0, 0, 0, 0x6e, 0xd1, 0x6c, 0x22, 0xfa, 0xf3, 0xdf, 0x1e,
      0x5e, 0x15, 0xd1, 0xc1, 0xf0, 0x1f, 0xb8, 0x25,
    ]
    for (suffix, bytes) in [
      (".part.json", Array(unfinishedText.utf8)), (".part", Array("Hello, ".utf8)), (".sums", sums),
    ] {
      let path = stem + suffix
      #expect(
        FileManager.default.createFile(
          atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600]))
    }
    let server = FileServer(Array("Hello, world!".utf8))
    let downloader = sandbox.downloader(server)
    let found = try #require(try await downloader.downloads(in: sandbox.folder).first)
    #expect(found.record.url == "http://example.com/big" && !found.isFinished)
    #expect(found.record.expiry == DownloadExpiry(after: 60, isSliding: true))
    let file = try await downloader.download(sandbox.asked())
    #expect(file.resumedBytes == 7 && file.receivedBytes == 6)
    #expect(sandbox.bytes() == Array("Hello, world!".utf8))
    #expect(server.ranges == ["bytes=7-"])
  }
}

private let unfinishedText = #"""
  {
   "format": 1,
   "seed": "0000000000000000",
   "key": "http://example.com/big",
   "variant": "0000000000000000",
   "status": 200,
   "fields": [
    ["ETag", "\"1\""],
    ["Date", "Fri, 15 Jan 2027 08:00:00 GMT"],
    ["Content-Length", "13"],
    ["X-Odd", "a\"b\u007fé"]
   ],
   "userInfo": [
    ["download-file", "file"],
    ["download-answered-by", "http://example.com/big"],
    ["download-expiry-seconds", "60"],
    ["download-expiry-sliding", "true"],
    ["download-length", "13"]
   ],
   "tags": [],
   "created": "2027-01-15T08:00:00.000000000Z",
   "accessed": "2027-01-15T08:00:00.000000000Z",
   "pinned": false,
   "digest": "00000000000000000000000000000000",
   "length": 13,
   "checksum": "929165d1a1f641e8"
  }

  """#
