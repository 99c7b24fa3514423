import CacheSystem

/// The names of the documents that must not be used by this machine, because it knows of a change
/// that they do not have. Keys would take up to 64 KiB each, and clients choose them.
final class BlockedNames: Sendable {
  private struct State {
    var tokens: [ObjectName: UInt64] = [:]
    var next: UInt64 = 0
    var blocksAll = false
  }

  /// The most names; with one more, all are blocked until the program ends.
  static let maximumCount = 100_000

  private let state = Lock(State())

  /// Blocks a name.
  ///
  /// - Returns: a token for ``release(_:_:)``.
  func insert(_ name: ObjectName) -> UInt64 {
    state.withLock { state in
      state.next += 1
      state.tokens[name] = state.next
      if state.tokens.count > Self.maximumCount { (state.blocksAll, state.tokens) = (true, [:]) }
      return state.next
    }
  }

  func contains(_ name: ObjectName) -> Bool {
    state.withLock { $0.blocksAll || $0.tokens[name] != nil }
  }

  /// Releases a name, unless it was blocked again since the token was given.
  func release(_ name: ObjectName, _ token: UInt64) {
    state.withLock { state in
      if state.tokens[name] == token { state.tokens[name] = nil }
    }
  }
}
