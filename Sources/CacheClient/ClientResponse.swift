public import ContentCoding

/// The source of a response.
public enum ResponseSource: Sendable, Hashable {
  /// A server sent it now.
  case network
  /// It was in the store's memory.
  case memory
  /// It was on disk.
  case disk
  /// It is a file that ships with the program (``Substitutes``).
  case substitute
}

/// The response to a fetch: its source and the reason, its head and its body.
public struct ClientResponse: Sendable {
  /// The request that was answered: after redirects, the last one.
  public internal(set) var request: HTTPRequest

  /// Status and fields. They describe the bytes of ``body``: if a content coding was removed,
  /// `Content-Encoding` and `Content-Length` are missing. A stored response has an `Age`, and no
  /// fields of a connection.
  public internal(set) var head: HTTPResponseHead

  /// The source of the body.
  public let source: ResponseSource

  /// The reason why the origin was contacted; `nil` if it was not.
  public let reason: ForwardReason?

  /// What the cache did (RFC 9211).
  public let cacheStatus: CacheStatus

  /// The stored entry; `nil` for a substitute, and for a response from the network, whose
  /// ``ResponseBody/storing`` has it at the end of the body.
  public let entry: EntryInfo?

  /// The body.
  public internal(set) var body: ResponseBody

  /// The length of the file of a substitute, even if the response has only a part of it or no body;
  /// `nil` for other responses.
  package internal(set) var substituteLength: UInt64?

  /// The seconds that are left of the caller's lifetime (``FetchOptions/lifetime``); `nil` if there is
  /// none, and for what will not be stored.
  package internal(set) var lifetimeLeft: Int64?

  /// Whether a stored response was received at a later time than now, so that its age is not known.
  package internal(set) var isOfFuture = false

  /// The error of the origin, if a stored response is used because of it.
  package internal(set) var originError: TransportError?

  /// The URL that answered.
  public var url: NormalizedURL { request.url }
}

/// Whether a response is stored.
public enum StoringState: Sendable {
  /// The response came from the store, or from a substitute.
  case fromStore
  /// The body has not been read to its end.
  case pending
  /// The response is stored.
  case stored(EntryInfo)
  /// The response is not stored.
  case notStored(NotStored)
}

/// The reason why a response is not stored.
public enum NotStored: Error, Sendable, Hashable, CustomStringConvertible {
  /// The rules of HTTP forbid it.
  case forbidden(NotStoredReason)
  /// The body was not read to its end, or ended too early.
  case incomplete
  /// Its content coding is damaged, or ends too early.
  case damaged(ContentCodingError)
  /// An unsafe request or a removal has invalidated it meanwhile (RFC 9111, section 4.4).
  case invalidated
  /// A response that was received later is stored already.
  case superseded
  /// The store failed; the response itself is complete.
  case failed(StoreError)
  /// It was stored, and is not there any more; or a redirect on the way to it may not be stored.
  case gone

  /// The reason in a few words.
  public var description: String {
    switch self {
    case .forbidden(let reason): reason.description
    case .incomplete: "the whole body was not received"
    case .damaged(let error): error.description
    case .invalidated: "it was invalidated while it was received"
    case .superseded: "a newer response was stored while it was received"
    case .failed(let error): error.description
    case .gone: "it was evicted or removed since, or a redirect to it may not be stored"
    }
  }
}
