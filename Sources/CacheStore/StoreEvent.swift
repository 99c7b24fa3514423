public import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The reason of a miss.
public enum MissReason: Sendable, Hashable {
  /// There is no such entry.
  case absent
  /// There is an entry, but it cannot be read as it was stored.
  case damaged
  /// There is an entry of another key with the same hash.
  case collision
  /// The store is closed, perhaps because another program has converted it to a newer format.
  case closed
}

/// The source of a hit.
public enum EntrySource: Sendable, Hashable {
  /// The memory of this process.
  case memory
  /// A file of the store.
  case disk
}

/// An event in a store, with its reason.
public struct StoreEvent: Sendable, Hashable {
  /// The kind of an event.
  public enum Kind: Sendable, Hashable {
    /// An entry was stored.
    case stored
    /// A look-up found an entry.
    case hit(EntrySource)
    /// A look-up found nothing to return.
    case miss(MissReason)
    /// An entry left the store. The reason is `asked` or `age` for a removal, `damaged` for a
    /// damaged entry that was set aside, and otherwise that of an eviction.
    case removed(RemovalReason)
    /// The files of entries could not be written, for this reason. The entries stay in the journal,
    /// and it is tried again.
    case notSettled(StoreError)
    /// The background work has written or removed files of the store, so its sizes may have changed.
    case maintained
  }

  /// The kind of an event.
  public var kind: Kind
  /// The key, if it is known without reading the disk.
  public var key: ByteString?
  /// The length of the body in bytes; 0 if there is none.
  public var bytes: UInt64
}

/// The listeners of a store, to which events are sent.
final class EventHub: Sendable {
  private struct Listeners {
    var all: [Int: AsyncStream<StoreEvent>.Continuation] = [:]
    var isFinished = false
  }

  private let listeners = Lock(Listeners())
  private let listenerCount = Atomic<Int>(0)
  private let nextID = Atomic<Int>(0)

  /// Whether there is a listener. The check is cheap, and without a listener no event is made.
  @inline(__always)
  var isHeard: Bool { listenerCount.load(ordering: .relaxed) > 0 }

  func send(_ kind: StoreEvent.Kind, key: ByteString? = nil, bytes: UInt64 = 0) {
    guard isHeard else { return }
    let event = StoreEvent(kind: kind, key: key, bytes: bytes)
    let all = listeners.withLock { Array($0.all.values) }
    for listener in all { _ = callOut { listener.yield(event) } }
  }

  func stream(bufferingNewest count: Int) -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: StoreEvent.self, bufferingPolicy: .bufferingNewest(count))
    let id = nextID.add(1, ordering: .relaxed).newValue
    let isFinished = listeners.withLock { listeners in
      if !listeners.isFinished { listeners.all[id] = continuation }
      return listeners.isFinished
    }
    guard !isFinished else {
      callOut { continuation.finish() }
      return stream
    }
    listenerCount.add(1, ordering: .relaxed)
    continuation.onTermination = { [weak self] _ in self?.forget(id) }
    return stream
  }

  /// Ends all streams; those that are made later end at once.
  func finish() {
    let all = listeners.withLock { listeners in
      listeners.isFinished = true
      return Array(listeners.all.values)
    }
    for listener in all { callOut { listener.finish() } }
  }

  private func forget(_ id: Int) {
    let known = listeners.withLock { $0.all.removeValue(forKey: id) }
    if known != nil { listenerCount.subtract(1, ordering: .relaxed) }
  }
}
