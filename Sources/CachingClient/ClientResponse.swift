public import CacheFormat
public import HTTPSemantics

/// Tells when an answer was asked for and when its head came (RFC 9111, section 4.2.3).
public struct ResponseTimes: Sendable, Hashable {
  /// Tells when the request was sent.
  public let request: Timestamp
  /// Tells when the head was there.
  public let response: Timestamp

  /// Makes a pair of times.
  public init(request: Timestamp, response: Timestamp) {
    self.request = request
    self.response = response
  }
}

/// Holds the answer to a fetch: where it came from and why, its head, and the way to its body.
public struct ClientResponse: Sendable {
  /// Gives the request.
  public let request: HTTPRequest

  /// Gives the URL that answered, now or when the answer was stored: the last of the redirects.
  public let url: NormalizedURL

  /// Gives status and fields. They describe the bytes of ``body``: where a content coding was taken
  /// off, `Content-Encoding` and `Content-Length` are gone.
  public let head: HTTPResponseHead

  /// Tells where the answer came from.
  public let source: ResponseSource

  /// Tells why it did not come from the store; nil if it did.
  public let missReason: FetchMissReason?

  /// Gives all that the store knows of the answer; nil if it came from the network, where
  /// ``ResponseBody/storing`` tells it once the body has been read.
  public let entry: EntryInfo?

  /// Tells when the answer was asked for and came, also if that was long ago.
  public let times: ResponseTimes

  /// Gives the body.
  public let body: ResponseBody
}

/// Tells what becomes of an answer in the store.
public enum StoringState: Sendable {
  /// The answer came from the store.
  case fromStore
  /// The body is not read to its end yet.
  case pending
  /// The answer is stored.
  case stored(EntryInfo)
  /// The answer is not stored.
  case notStored(NotStoredReason)
}
