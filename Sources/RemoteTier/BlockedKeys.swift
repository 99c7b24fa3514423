import CacheFormat
import CacheSystem

/// The keys whose documents must not be used by this machine, because it knows of a change that
/// they do not have.
final class BlockedKeys: Sendable {
  private struct State {
    var tokens: [ByteString: UInt64] = [:]
    var next: UInt64 = 0
    var blocksAll = false
  }

  /// The most keys; with one more, all keys are blocked until the program ends.
  static let maximumCount = 100_000

  private let state = Lock(State())

  /// Blocks a key.
  ///
  /// - Returns: a token for ``release(_:_:)``.
  func insert(_ key: ByteString) -> UInt64 {
    state.withLock { state in
      state.next += 1
      state.tokens[key] = state.next
      if state.tokens.count > Self.maximumCount { (state.blocksAll, state.tokens) = (true, [:]) }
      return state.next
    }
  }

  /// Returns whether a key is blocked.
  func contains(_ key: ByteString) -> Bool {
    state.withLock { $0.blocksAll || $0.tokens[key] != nil }
  }

  /// Releases a key, unless it was blocked again since the token was given.
  func release(_ key: ByteString, _ token: UInt64) {
    state.withLock { state in
      if state.tokens[key] == token { state.tokens[key] = nil }
    }
  }
}
