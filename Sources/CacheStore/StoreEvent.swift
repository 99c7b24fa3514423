public import CacheFormat
internal import CacheSystem
internal import Synchronization

/// Why a look-up found nothing to return.
public enum MissReason: Sendable, Hashable {
  /// There is no such entry.
  case absent
  /// There is one, but it cannot be read as it was stored.
  case damaged
  /// There is one of another key with the same hash.
  case collision
}

/// Where a hit came from.
public enum EntrySource: Sendable, Hashable {
  /// The memory of this process.
  case memory
  /// A file of the store.
  case disk
}

/// Something that happened in a store, with its reason.
public struct StoreEvent: Sendable, Hashable {
  /// What happened.
  public enum Kind: Sendable, Hashable {
    /// An entry was stored.
    case stored
    /// A look-up found an entry.
    case hit(EntrySource)
    /// A look-up found nothing to return.
    case miss(MissReason)
    /// An entry left the store. The reason `asked` is a removal, `damaged` a damaged entry that was set
    /// aside; the other reasons are evictions.
    case removed(RemovalReason)
  }

  /// What happened.
  public var kind: Kind
  /// The key, where it is known without reading the disk.
  public var key: ByteString?
  /// The bytes of the body, where there is one.
  public var bytes: UInt64
}

/// Hands events to whoever listens.
final class EventHub: Sendable {
  private let listeners = Lock<[Int: AsyncStream<StoreEvent>.Continuation]>([:])
  private let listenerCount = Atomic<Int>(0)
  private let nextID = Atomic<Int>(0)

  /// Whether anyone listens: cheap, so that no event is made for nobody.
  @inline(__always)
  var isHeard: Bool { listenerCount.load(ordering: .relaxed) > 0 }

  func send(_ kind: StoreEvent.Kind, key: ByteString? = nil, bytes: UInt64 = 0) {
    guard isHeard else { return }
    let event = StoreEvent(kind: kind, key: key, bytes: bytes)
    let all = listeners.withLock { Array($0.values) }
    for listener in all { _ = callOut { listener.yield(event) } }
  }

  func stream(bufferingNewest count: Int) -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: StoreEvent.self, bufferingPolicy: .bufferingNewest(count))
    let id = nextID.add(1, ordering: .relaxed).newValue
    listeners.withLock { $0[id] = continuation }
    listenerCount.add(1, ordering: .relaxed)
    continuation.onTermination = { [weak self] _ in self?.forget(id) }
    return stream
  }

  func finish() {
    let all = listeners.withLock { Array($0.values) }
    for listener in all { callOut { listener.finish() } }
  }

  private func forget(_ id: Int) {
    let known = listeners.withLock { $0.removeValue(forKey: id) }
    if known != nil { listenerCount.subtract(1, ordering: .relaxed) }
  }
}
