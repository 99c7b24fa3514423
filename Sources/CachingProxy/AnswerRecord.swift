package import CacheFormat
package import CacheStore
package import HTTPSemantics

package enum AnswerSource: String, Sendable, Hashable, CaseIterable {
  /// The store had it in memory.
  case memory
  /// The store had it on disk.
  case disk
  /// A file that ships with the program was used for the URL.
  case substitute
  /// The origin has sent it now.
  case network
  /// It came through a tunnel, which this proxy does not read.
  case tunnel
  /// The proxy has created it: an error, a refusal, or one of its own pages.
  case proxy
}

/// The record of one answered request, for the access log and the status pages.
package struct AnswerRecord: Sendable, Hashable {
  package var time: Timestamp

  /// The client's numeric address without its port, such as `127.0.0.1` or `::1`.
  var clientAddress: String

  /// The method as it was sent; empty if the request could not be read.
  package var method: String

  /// The URL, or the target if there is no URL, such as `*`; without credentials.
  package var url: String

  /// The status code of the answer; 0 if none was sent.
  package var status: Int

  /// The number of body bytes that were passed to the network.
  package var bytesSent: UInt64

  /// The bytes of a tunnel that came from the client; 0 for other answers.
  var bytesReceived: UInt64 = 0

  /// The time from the request's head to the answer's end.
  package var microseconds: UInt64

  /// The answer's `Cache-Status` (RFC 9211), or `nil` if it has none; with `stored` only if the body
  /// has been stored.
  package var cacheStatus: CacheStatus?

  package var source: AnswerSource

  /// The reason in a few words: why it was not a hit, or what went wrong; empty for a plain hit.
  package var reason: String

  /// Whether the answer was sent completely; false if one of the sides left before.
  package var isComplete: Bool

  /// The error of the store that kept the answer from being stored; `nil` if there was none.
  package var storingFailure: StoreError?
}

/// An object that is notified of every answer, once, when it has ended.
///
/// Its methods are called on the threads of the server, several at a time. They must return within
/// about a microsecond and must not wait.
package protocol ProxyObserver: Sendable {
  func answered(_ record: AnswerRecord)

  /// Notes that a tunnel has begun. Its end is an answer with the source ``AnswerSource/tunnel``.
  func tunnelBegan()

  /// Notes that connections to a host are tunnelled for an hour, because a client has not accepted the
  /// certificate for it.
  func leftAlone(_ host: String)

  /// Notes, once, that connections are tunnelled because the authority is not valid now.
  func authorityEnded()
}

extension ProxyObserver {
  package func tunnelBegan() {}

  package func leftAlone(_ host: String) {}

  package func authorityEnded() {}
}

package struct ProxyPage: Sendable, Hashable {
  package var status = 200

  /// The media type, such as `text/html; charset=utf-8`.
  package var contentType: String

  /// Further fields, such as a policy for browsers. The fields that every page has are added in any
  /// case.
  package var fields: HTTPFields = []

  package var body: [UInt8]
}
