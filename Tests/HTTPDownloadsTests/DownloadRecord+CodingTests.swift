import CacheFormat
import HTTPSemantics
import Testing

@testable import HTTPDownloads

struct DownloadRecordCodingTests {
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

  @Test func `any text can be written, except for cookies`() throws {
    var record = DownloadRecord(
      file: ByteString(bytes: [0xFF, 0x0A]), url: "http://example.com/ü",
      answeredBy: "http://example.com/2",
      head: HTTPResponseHead(
        status: 203,
        fields: [HTTPField(name: "X", value: [0xFF]), HTTPField("Set-Cookie", "secret")]),
      started: Timestamp(nanoseconds: -5))
    (record.length, record.given) = (.max, Timestamp(nanoseconds: 4))
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
