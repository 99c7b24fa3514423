package import CacheFormat
package import HTTPSemantics

/// Names where the body of an answer came from.
package enum AnswerSource: String, Sendable, Hashable, CaseIterable {
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
package struct AnswerRecord: Sendable, Hashable {
  /// Tells when the request came.
  package var time: Timestamp

  /// Gives the client's numeric address without its port, such as `127.0.0.1` or `::1`.
  package var clientAddress: String

  /// Gives the method as it was sent; empty when the request could not be read.
  package var method: String

  /// Gives the URL, or the target where there is none such as `*`, without credentials.
  package var url: String

  /// Gives the status code of the answer; 0 if none was sent.
  package var status: Int

  /// Gives the number of body bytes that were handed to the network.
  package var bytesSent: UInt64

  /// Gives the time from the request's head to the answer's end.
  package var microseconds: UInt64

  /// Gives the value of the answer's `Cache-Status` field (RFC 9211); empty if it has none.
  package var cacheStatus: String

  /// Tells where the body came from.
  package var source: AnswerSource

  /// Says in a few words why: why it was no hit, or what went wrong; empty for a plain hit.
  package var reason: String

  /// Tells whether the answer was sent to its end; false when one of the sides left before.
  package var isComplete: Bool

  /// Makes a record.
  package init(
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
package protocol ProxyObserver: Sendable {
  /// Takes note of an answer.
  ///
  /// Called on the threads of the server, several at a time: it returns within a microsecond or so
  /// and never waits.
  func answered(_ record: AnswerRecord)
}

/// Holds a page that the proxy serves itself.
package struct ProxyPage: Sendable, Hashable {
  /// Gives the status code.
  package var status: Int

  /// Gives the media type, such as `text/html; charset=utf-8`.
  package var contentType: String

  /// Gives further fields, such as a policy for browsers; what every page has is added anyway.
  package var fields: HTTPFields

  /// Gives the body.
  package var body: [UInt8]

  /// Makes a page.
  package init(
    status: Int = 200, contentType: String, fields: HTTPFields = [], body: [UInt8]
  ) {
    self.status = status
    self.contentType = contentType
    self.fields = fields
    self.body = body
  }
}

/// Answers the paths below `/.offlinecache/`.
package protocol ProxyStatusPages: Sendable {
  /// Returns the page of a path such as `/.offlinecache/status`, without its query; nil if there is
  /// none.
  ///
  /// Called for `GET` and `HEAD` only, away from the threads of the server, so it may take a while.
  func answer(path: String) -> ProxyPage?
}
