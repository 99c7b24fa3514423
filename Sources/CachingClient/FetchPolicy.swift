public import CacheStore

/// Says where an answer may come from.
public enum FetchPolicy: Sendable, Hashable {
  /// From the store if it has one, else from the network.
  case useStored
  /// From the network, whatever is stored; what comes replaces it.
  case refresh
  /// From the store alone.
  case offline
}

/// Tells where an answer came from.
public enum ResponseSource: Sendable, Hashable {
  /// A server sent it now.
  case network
  /// The store had it in memory.
  case memory
  /// The store had it on disk.
  case disk

  init(_ source: EntrySource) {
    switch source {
    case .memory: self = .memory
    case .disk: self = .disk
    }
  }
}

/// Tells why the store did not give the answer.
public enum FetchMissReason: Sendable, Hashable, CustomStringConvertible {
  /// Nothing is stored for the method and URL.
  case absent
  /// What is stored cannot be read as it was stored.
  case damaged
  /// What is stored belongs to another key with the same hash.
  case collision
  /// What is stored is no answer of a server, as it has no status.
  case notAnAnswer
  /// What is stored was chosen by a request without a field that this one has (`Vary`).
  case otherVariant(field: String)
  /// The caller asked for a fresh answer.
  case refresh
  /// The store is not asked for such a request.
  case bypassed(BypassReason)

  init(_ reason: MissReason) {
    switch reason {
    case .absent: self = .absent
    case .damaged: self = .damaged
    case .collision: self = .collision
    }
  }

  /// Says the reason in a few words.
  public var description: String {
    switch self {
    case .absent: "nothing is stored for it"
    case .damaged: "what is stored is damaged"
    case .collision: "another key with the same hash is stored"
    case .notAnAnswer: "what is stored is no answer of a server"
    case .otherVariant(let field): "what is stored depends on the field \(field)"
    case .refresh: "a fresh answer was asked for"
    case .bypassed(let reason): reason.description
    }
  }
}

/// Tells why the store has no part in a request.
public enum BypassReason: Sendable, Hashable, CustomStringConvertible {
  /// Only answers to `GET` are stored.
  case method(String)
  /// The answer may depend on this field of the request.
  case field(String)

  /// Says the reason in a few words.
  public var description: String {
    switch self {
    case .method(let method): "answers to \(method) are not stored"
    case .field(let field): "answers to requests with \(field) are not stored"
    }
  }
}

/// Tells why an answer is not stored.
public enum NotStoredReason: Sendable, Hashable {
  /// The store has no part in such a request.
  case bypassed(BypassReason)
  /// Only answers with the status 200 are stored.
  case status(Int)
  /// The answer was chosen by this field of the request, or by something unknown (`*`).
  case varies(field: String)
  /// The body ended with its connection, and what could tell whether it is whole is not known:
  /// the check of its content coding is not among what the transport tells.
  case unknownEnd
  /// The body was not read to its end, or ended too early.
  case incomplete
  /// The store could not take it; the answer itself is not touched by that.
  case failed(StoreError)
}
