import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

/// Makes a stored response without a store.
///
/// - Parameter bytes: The number of bytes of its body.
func storedVariant(
  _ key: ByteString = "a", _ number: UInt64 = 0, status: Int = 200, _ fields: HTTPFields = [],
  bytes: Int = 10, source: EntrySource = .disk, at seconds: Int64 = 0, userInfo: [Field] = []
) throws -> StoredVariant {
  let body = [UInt8](repeating: 1, count: bytes)
  let head = PutHead(
    keyHash: KeyHash(high: 0, low: 0), digest: Digest(hashing: body), variant: number,
    length: UInt64(bytes), created: moment(seconds), accessed: moment(seconds), expires: nil,
    bodyFile: 0, overhead: 0, status: status, isPinned: false)
  let metadata = EntryMetadata(
    status: status, fields: EntryFields.fields(fields), userInfo: userInfo)
  let info = EntryInfo(
    record: PutRecord(head: head, key: key, metadata: metadata), accessed: moment(seconds))
  return try #require(StoredVariant(info, .bytes(body, source), CacheRules()))
}

/// Makes a request for a part.
func ranged(_ range: String, _ more: HTTPFields = []) -> HTTPRequest {
  request("/a", HTTPFields([HTTPField("Range", "bytes=\(range)")] + more))
}

/// Makes the fields of a fresh part.
func partFields(
  _ range: ClosedRange<Int>, of length: String = "1000", tag: String? = "\"1\"",
  _ more: [HTTPField] = []
) -> HTTPFields {
  var fields: HTTPFields = [
    HTTPField("Cache-Control", "max-age=1000"),
    HTTPField("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound)/\(length)"),
  ]
  if let tag { fields.append(HTTPField("ETag", tag)) }
  return HTTPFields(Array(fields) + more)
}

extension CacheSandbox {
  /// Stores a part of a body.
  func loadPart(
    _ range: ClosedRange<Int>, of body: [UInt8], length: String = "1000", tag: String? = "\"1\"",
    _ more: [HTTPField] = [], at seconds: Int64 = 0
  ) throws {
    let asked = ranged("\(range.lowerBound)-\(range.upperBound)")
    let fields = partFields(range, of: length, tag: tag, more)
    let reason = try load(asked, head(206, fields), Array(body[range]), at: seconds)
    if let reason { Issue.record("\(reason)") }
  }
}
