public import CacheFormat
public import HTTPSemantics

/// Names where the body of an answer came from.
public enum AnswerSource: String, Sendable, Hashable, CaseIterable {
  /// The store had it in memory.
  case memory
  /// The store had it on disk.
  case disk
  /// A file that ships with the program stands in for it.
  case substitute
  /// The origin sent it now.
  case network
  /// The proxy made it itself: an error, a refusal, a page of its own.
  case proxy
}

/// Tells how one request was answered; what the access log and the status pages are made of.
public struct AnswerRecord: Sendable, Hashable {
  /// Tells when the request came.
  public var time: Timestamp

  /// Gives the client's numeric address without its port, such as `127.0.0.1` or `::1`.
  public var clientAddress: String

  /// Gives the method as it was sent; empty when the request could not be read.
  public var method: String

  /// Gives the URL, or the target where there is none such as `*`, without credentials.
  public var url: String

  /// Gives the status code of the answer; 0 if none was sent.
  public var status: Int

  /// Gives the number of body bytes that were handed to the network.
  public var bytesSent: UInt64

  /// Gives the time from the request's head to the answer's end.
  public var microseconds: UInt64

  /// Gives the value of the answer's `Cache-Status` field (RFC 9211); empty if it has none.
  public var cacheStatus: String

  /// Tells where the body came from.
  public var source: AnswerSource

  /// Says in a few words why: why it was no hit, or what went wrong; empty for a plain hit.
  public var reason: String

  /// Tells whether the answer was sent to its end; false when one of the sides left before.
  public var isComplete: Bool

  /// Makes a record.
  public init(
    time: Timestamp, clientAddress: String, method: String, url: String, status: Int,
    bytesSent: UInt64, microseconds: UInt64, cacheStatus: String, source: AnswerSource,
    reason: String, isComplete: Bool
  ) {
    self.time = time
    self.clientAddress = clientAddress
    self.method = method
    self.url = url
    self.status = status
    self.bytesSent = bytesSent
    self.microseconds = microseconds
    self.cacheStatus = cacheStatus
    self.source = source
    self.reason = reason
    self.isComplete = isComplete
  }
}

/// Learns of every answer, once, when it has ended.
public protocol ProxyObserver: Sendable {
  /// Takes note of an answer.
  ///
  /// Called on the threads of the server, several at a time: it returns within a microsecond or so
  /// and never waits.
  func answered(_ record: AnswerRecord)
}

/// Holds a page that the proxy serves itself.
public struct ProxyPage: Sendable, Hashable {
  /// Gives the status code.
  public var status: Int

  /// Gives the media type, such as `text/html; charset=utf-8`.
  public var contentType: String

  /// Gives further fields, such as a policy for browsers; what every page has is added anyway.
  public var fields: HTTPFields

  /// Gives the body.
  public var body: [UInt8]

  /// Makes a page.
  public init(
    status: Int = 200, contentType: String, fields: HTTPFields = [], body: [UInt8]
  ) {
    self.status = status
    self.contentType = contentType
    self.fields = fields
    self.body = body
  }
}

/// Answers the paths below `/.offlinecache/`.
public protocol ProxyStatusPages: Sendable {
  /// Returns the page of a path such as `/.offlinecache/status`, without its query; nil if there is
  /// none.
  ///
  /// Called for `GET` and `HEAD` only, away from the threads of the server, so it may take a while.
  func answer(path: String) -> ProxyPage?
}
