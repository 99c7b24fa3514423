import CacheFormat
import ClientTesting
import Foundation
import HTTPSemantics
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(5)))
struct DownloadRecordTests {
  /// A record in which all members have a value.
  private var full: DownloadRecord {
    var record = DownloadRecord(
      file: ByteString(bytes: [0x66, 0xff]), url: "https://a.example/ü",
      answeredBy: "https://b.example/",
      head: HTTPResponseHead(
        status: 200, fields: [HTTPField("A", "1"), HTTPField("A", "2")]),
      started: Timestamp(nanoseconds: -1))
    record.ended = Timestamp(nanoseconds: 5)
    record.expiry = DownloadExpiry(after: 3)
    record.expires = Timestamp(nanoseconds: 1_800_000_000_123_456_789)
    record.length = 12345
    (record.modified, record.replaced, record.mayReplace) = (-9, -5, 7)
    return record
  }

  @Test func `the bytes are those of the metadata documents of earlier versions`() throws {
    #expect(String(decoding: try full.encoded(), as: UTF8.self) == fullText)
    #expect(DownloadRecord(decoding: Array(fullText.utf8)) == full)
    let document = try MetadataDocument(decoding: Array(fullText.utf8), hashSeed: 0)
    #expect(document.entry.key == ByteString(full.url))
    #expect(document.entry.digest == Digest(high: 0, low: 0))
    #expect(try document.encoded() == full.encoded())
  }

  @Test func `a file that is not a record is not read as one`() throws {
    var entry = try MetadataDocument(decoding: Array(fullText.utf8), hashSeed: 0).entry
    entry.metadata.userInfo.removeFirst()
    #expect(
      DownloadRecord(decoding: try MetadataDocument(hashSeed: 0, entry: entry).encoded()) == nil)
    let other = MetadataDocument(
      hashSeed: 1, entry: try MetadataDocument(decoding: Array(fullText.utf8)).entry)
    #expect(DownloadRecord(decoding: try other.encoded()) == nil)
    var record = full
    record.head.status = 1000
    #expect(throws: FormatError.self) { try record.encoded() }
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

  @Test func `any text can be written, except for cookies`() throws {
    var record = DownloadRecord(
      file: ByteString(bytes: [0xFF, 0x0A]), url: "http://example.com/ü",
      answeredBy: "http://example.com/2",
      head: HTTPResponseHead(
        status: 203,
        fields: [HTTPField(name: "X", value: [0xFF]), HTTPField("Set-Cookie", "secret")]),
      started: Timestamp(nanoseconds: -5))
    record.length = .max
    record.expire(DownloadExpiry(after: -1, isSliding: true), from: .distantFuture)
    let read = DownloadRecord(decoding: try record.encoded())
    #expect(read == record)
    #expect(read?.head.fields.map(\.name) == ["X"])
    #expect(DownloadRecord(decoding: []) == nil)
    var bytes = try record.encoded()
    bytes[bytes.count / 2] ^= 1
    #expect(DownloadRecord(decoding: bytes) == nil)
  }
}

private let fullText = #"""
  {
   "format": 1,
   "seed": "0000000000000000",
   "key": "https://a.example/ü",
   "variant": "0000000000000000",
   "status": 200,
   "fields": [
    ["A", "1"],
    ["A", "2"]
   ],
   "userInfo": [
    ["download-file", {"base64": "Zv8="}],
    ["download-answered-by", "https://b.example/"],
    ["download-ended", "5"],
    ["download-expiry-seconds", "3"],
    ["download-expiry-sliding", "false"],
    ["download-length", "12345"],
    ["download-modified", "-9"],
    ["download-replaced", "-5"],
    ["download-may-replace", "7"]
   ],
   "tags": [],
   "created": "1969-12-31T23:59:59.999999999Z",
   "accessed": "1969-12-31T23:59:59.999999999Z",
   "expires": "2027-01-15T08:00:00.123456789Z",
   "pinned": false,
   "digest": "00000000000000000000000000000000",
   "length": 12345,
   "checksum": "26e99482bf215396"
  }

  """#

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
