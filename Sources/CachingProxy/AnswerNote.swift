import CacheFormat
import HTTPSemantics

/// Collects what will be told of an answer once it has ended.
struct AnswerNote {
  /// Nanoseconds since 1970.
  var start: Int64 = 0
  var method = ""
  var url = ""
  var isHead = false
  var isHTTP11 = true
  /// How many bytes the lines of an answer may take.
  var headRoom = ServerDaemon.connectionMemory - reserve
  var status = 0
  var cacheStatus = ""
  var source = AnswerSource.proxy
  var reason = ""
  /// The bytes of a body that is sent as a whole or not at all, as far as anybody knows.
  var wholeBytes: UInt64 = 0
  /// The bytes of a stream, as they go.
  var streamedBytes: UInt64 = 0

  /// The part of a connection's memory that is left for the status line and what the library adds.
  private static let reserve = 1024
  /// The room for the head of an answer, in bytes, that a request has to leave.
  static let leastRoom = 4 * 1024
  /// What the library keeps of each field of a request, in bytes, or a little more.
  private static let fieldRecord = 64

  /// Takes over what a request tells.
  mutating func take(_ head: RequestHead) {
    method = head.method.rawValue
    isHead = head.method == .head
    isHTTP11 = head.isHTTP11
    headRoom -= head.target.utf8.count
    for field in head.fields {
      headRoom -= field.name.utf8.count + field.value.count + Self.fieldRecord
      if field.isNamed("Cookie") {
        // It keeps a copy, and a record of each cookie.
        headRoom -= field.value.count + field.value.count { $0 == 0x3B } * Self.fieldRecord
      }
    }
  }

  /// Takes over what an answer tells.
  mutating func take(_ answer: ProxyAnswer) {
    status = answer.head.status
    cacheStatus = answer.cacheStatus
    source = answer.source
    reason = answer.reason
    if isHead || status == 204 || status == 304 { return }
    switch answer.body {
    case .bytes(let bytes): wholeBytes = UInt64(bytes.count)
    case .file(_, _, let length, _): wholeBytes = length
    case .stream: break
    }
  }

  /// Takes over that the library could not read the request, and answered with a status of its own.
  mutating func refused(_ status: Int, target: [UInt8]) {
    self.status = status
    reason = "the request cannot be read"
    if url.isEmpty { url = TargetText.withoutCredentials(target) }
  }

  /// Makes the record.
  func record(client: String, _ isComplete: Bool, _ end: Int64) -> AnswerRecord {
    // The clock may have gone back.
    let nanoseconds = max(0, end.subtractingReportingOverflow(start).partialValue)
    return AnswerRecord(
      time: Timestamp(nanoseconds: start), clientAddress: client, method: method, url: url,
      status: status, bytesSent: streamedBytes + (isComplete ? wholeBytes : 0),
      microseconds: UInt64(nanoseconds / 1000), cacheStatus: cacheStatus, source: source,
      reason: reason, isComplete: isComplete)
  }
}

extension RequestHead {
  /// Tells whether bytes follow the head.
  var hasBody: Bool {
    switch framing {
    case .none: false
    case .length(let count): count > 0
    case .chunked: true
    }
  }
}
