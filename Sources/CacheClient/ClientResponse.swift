public import CacheFormat
public import CacheStore
public import HTTPCaching
public import HTTPSemantics

/// Tells where an answer came from.
public enum ResponseSource: Sendable, Hashable {
  /// A server sent it now.
  case network
  /// The store had it in memory.
  case memory
  /// The store had it on disk.
  case disk
  /// A file that ships with the program stands in for it (``Substitutes``).
  case substitute
}

/// Holds the answer to a fetch: where it came from and why, its head, and the way to its body.
public struct ClientResponse: Sendable {
  /// Gives the request that was answered: the last of the redirects.
  public internal(set) var request: HTTPRequest

  /// Gives status and fields. They describe the bytes of ``body``: where a content coding was taken
  /// off, `Content-Encoding` and `Content-Length` are gone. `Age` is set on what was stored, fields
  /// of a connection are gone.
  public internal(set) var head: HTTPResponseHead

  /// Tells where the body comes from.
  public let source: ResponseSource

  /// Tells why the origin was asked; nil if it was not.
  public let reason: ForwardReason?

  /// Says what the cache did (RFC 9211).
  public let cacheStatus: CacheStatus

  /// Gives all that the store knew of the answer; nil if it came from a substitute, or the network,
  /// where ``ResponseBody/storing`` tells it once the body has been read.
  public let entry: EntryInfo?

  /// Gives the body.
  public internal(set) var body: ResponseBody

  /// Gives the length of a substitute, of which the answer may have a part or none; nil for others.
  package internal(set) var substituteLength: UInt64?

  /// Gives the URL that answered.
  public var url: NormalizedURL { request.url }
}

/// Tells what becomes of an answer in the store.
public enum StoringState: Sendable {
  /// The answer came from the store, or from a file that stands in for it.
  case fromStore
  /// The body is not read to its end yet.
  case pending
  /// The answer is stored.
  case stored(EntryInfo)
  /// The answer is not stored.
  case notStored(NotStored)
}

/// Tells why an answer is not stored.
public enum NotStored: Error, Sendable, Hashable, CustomStringConvertible {
  /// The rules of HTTP forbid it.
  case forbidden(NotStoredReason)
  /// The body was not read to its end, or ended too early.
  case incomplete
  /// Something that was done meanwhile made it invalid (RFC 9111, section 4.4).
  case invalidated
  /// The store could not take it; the answer itself is not touched by that.
  case failed(StoreError)

  /// Says the reason in a few words.
  public var description: String {
    switch self {
    case .forbidden(let reason): reason.description
    case .incomplete: "the body was not read to its end"
    case .invalidated: "a request made it invalid while it came"
    case .failed(let error): error.description
    }
  }
}
