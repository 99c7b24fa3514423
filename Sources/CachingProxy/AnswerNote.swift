import CacheClient
import CacheFormat
import CacheStore
import HTTPSemantics

/// The data of an answer that is recorded when the answer has ended.
struct AnswerNote {
  /// The time of the request, in nanoseconds since 1970.
  var start: Int64 = 0
  var method = ""
  var url = ""
  var isHead = false
  var isHTTP11 = true
  /// The bytes that the lines of the answer may take.
  var headRoom = ServerDaemon.connectionMemory - reserve
  var status = 0
  var cacheStatus: CacheStatus?
  var source = AnswerSource.proxy
  var reason = ""
  /// Whether the body is stored, once that is known. The head was sent before.
  var storing = StoringState.pending
  /// Why the body broke off, for `Cache-Status` and in words; `nil` if the client has left.
  var failure: (detail: String, reason: String)?
  /// The length of a body that is sent completely or not at all, as far as that is known.
  var wholeBytes: UInt64 = 0
  /// The bytes of a tunnel from the client.
  var receivedBytes: UInt64 = 0
  /// The bytes of a stream that have been sent so far.
  var streamedBytes: UInt64 = 0

  /// The part of a connection's memory for the status line and the fields that the library adds, in
  /// bytes.
  private static let reserve = 1024
  /// The room for the head of an answer that a request must leave, in bytes.
  static let leastRoom = 4 * 1024
  /// The memory that the library uses for each field of a request, in bytes, rounded up.
  private static let fieldRecord = 64

  mutating func take(_ head: RequestHead) {
    isHead = head.method == .head
    isHTTP11 = head.isHTTP11
    headRoom -= head.target.utf8.count
    for field in head.fields {
      headRoom -= field.name.utf8.count + field.value.count + Self.fieldRecord
      if field.isNamed("Cookie") {
        // The library keeps a copy, and a record of each cookie.
        headRoom -= field.value.count + field.value.count { $0 == 0x3B } * Self.fieldRecord
      }
    }
  }

  mutating func take(_ answer: ProxyAnswer) {
    status = answer.head.status
    cacheStatus = answer.cacheStatus
    source = answer.source
    reason = answer.reason
    if isHead || status == 204 || status == 304 { return }
    switch answer.body {
    case .bytes(let bytes): wholeBytes = UInt64(bytes.count)
    case .file(_, _, let length, _): wholeBytes = length
    case .stream, .tunnel: break
    }
  }

  mutating func take(_ result: Relay.Result) {
    source = .tunnel
    streamedBytes = result.toClient
    receivedBytes = result.toServer
    reason = "\(reason), \(result.toServer) bytes from the client"
  }

  /// Records that the library could not read the request, and answered with its own status.
  mutating func refused(_ status: Int, target: [UInt8]) {
    self.status = status
    reason = "the request cannot be read"
    if url.isEmpty { url = TargetText.withoutCredentials(target) }
  }

  func record(client: String, _ isComplete: Bool, _ end: Int64) -> AnswerRecord {
    // The clock may have been set back.
    let nanoseconds = max(0, end.subtractingReportingOverflow(start).partialValue)
    var record = AnswerRecord(
      time: Timestamp(nanoseconds: start), clientAddress: client, method: method, url: url,
      status: status, bytesSent: streamedBytes + (isComplete ? wholeBytes : 0),
      bytesReceived: receivedBytes, microseconds: UInt64(nanoseconds / 1000),
      cacheStatus: cacheStatus, source: source, reason: reason, isComplete: isComplete)
    if let failure {
      record.cacheStatus?.detail = failure.detail
      record.reason += "\(reason.isEmpty ? "" : "; ")\(failure.reason)"
    }
    switch storing {
    case .stored: return record
    case .fromStore, .pending, .notStored(.forbidden): break
    case .notStored(.incomplete) where failure != nil: break
    case .notStored(let why):
      record.reason += "\(reason.isEmpty ? "" : "; ")not stored: \(why)"
      if case .failed(let error) = why, !error.isOfEntry { record.storingFailure = error }
    }
    record.cacheStatus?.isStored = false
    return record
  }
}

extension StoreError {
  /// Whether only this answer cannot be stored, not others.
  fileprivate var isOfEntry: Bool {
    [.entryTooLarge, .metadataTooLarge, .keyTooLong].contains(code)
  }
}

extension RequestHead {
  /// Whether bytes follow the head.
  var hasBody: Bool {
    switch framing {
    case .none: false
    case .length(let count): count > 0
    case .chunked: true
    }
  }
}
