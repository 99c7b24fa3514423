import CacheFormat
import Synchronization

/// Lets what an exchange gets be stored, for as long as no unsafe request has changed what it tells
/// of (RFC 9111, section 4.4).
final class StoringPermit: Sendable {
  private let key: ByteString
  private let generation: UInt64
  private let permits: StoringPermits

  fileprivate init(_ key: ByteString, _ generation: UInt64, _ permits: StoringPermits) {
    self.key = key
    self.generation = generation
    self.permits = permits
  }

  deinit { permits.end(key) }

  var isValid: Bool { permits.generation(of: key) == generation }
}

/// Knows the keys that are asked for at the moment.
final class StoringPermits: Sendable {
  private struct Open {
    var count = 0
    var generation: UInt64 = 0
  }

  private let open = Mutex<[ByteString: Open]>([:])

  /// Makes a permit, before the request is sent.
  func make(_ key: ByteString) -> StoringPermit {
    let generation = open.withLock { open in
      open[key, default: Open()].count += 1
      return open[key, default: Open()].generation
    }
    return StoringPermit(key, generation, self)
  }

  /// Takes all permits for a key back.
  func revoke(_ key: ByteString) {
    open.withLock { $0[key]?.generation += 1 }
  }

  /// Takes all permits back.
  func revokeAll() {
    open.withLock { open in
      for key in open.keys { open[key]?.generation += 1 }
    }
  }

  fileprivate func generation(of key: ByteString) -> UInt64? {
    open.withLock { $0[key]?.generation }
  }

  fileprivate func end(_ key: ByteString) {
    open.withLock { open in
      open[key]?.count -= 1
      if open[key]?.count == 0 { open[key] = nil }
    }
  }
}
