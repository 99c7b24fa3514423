import CacheFormat
import CacheSystem

/// Runs offers in the background, a few at a time, and never two of one key at once. If too many
/// wait, the oldest ones are dropped; those without bytes, which empty documents, come last.
final class UploadQueue: Sendable {
  struct Item: Sendable {
    let key: ByteString
    let variant: UInt64
    var bytes: UInt64
    let run: @Sendable () async -> Void
    /// Is called if the offer is dropped, because too many wait.
    var onDrop: (@Sendable () -> Void)?
  }

  fileprivate struct State {
    /// In the order of the offers.
    var waiting: [Item] = []
    var bytes: UInt64 = 0
    var running: Set<ByteString> = []
    var dropped: UInt64 = 0
    var isClosed = false
    var idle: [CheckedContinuation<Void, Never>] = []
  }

  private let maximumCount: Int
  private let maximumBytes: UInt64
  private let atOnce: Int
  private let state = Lock(State())

  init(maximumCount: Int, maximumBytes: UInt64, atOnce: Int) {
    self.maximumCount = max(1, maximumCount)
    self.maximumBytes = maximumBytes
    self.atOnce = max(1, atOnce)
  }

  /// The number of offers that wait, and of those that were dropped.
  var counts: (waiting: Int, dropped: UInt64) {
    state.withLock { ($0.waiting.count, $0.dropped) }
  }

  /// Adds an offer; an older one of the same key and variant is replaced. A body that is longer than
  /// half of what may wait takes only that half, so that not all others are dropped for it.
  func add(_ item: Item) {
    var item = item
    item.bytes = min(item.bytes, max(1, maximumBytes / 2))
    // Replaced and dropped ones are released after the lock, because that may run foreign code.
    let (replaced, dropped) = state.withLock { [item] state -> (Item?, [Item]) in
      guard !state.isClosed else { return (nil, []) }
      var replaced: Item?
      var dropped: [Item] = []
      if let place = state.waiting.firstIndex(where: {
        $0.variant == item.variant && $0.key == item.key
      }) {
        let old = state.waiting.remove(at: place)
        state.bytes -= old.bytes
        replaced = old
      }
      state.waiting.append(item)
      state.bytes += item.bytes
      while state.waiting.count > maximumCount || state.bytes > maximumBytes {
        let others = state.waiting.dropLast()
        guard let place = others.firstIndex(where: { $0.bytes > 0 }) ?? others.indices.first,
          state.waiting.count > maximumCount || others[place].bytes > 0
        else { break }
        dropped.append(state.waiting.remove(at: place))
        state.bytes -= dropped[dropped.count - 1].bytes
        state.dropped += 1
      }
      return (replaced, dropped)
    }
    withExtendedLifetime(replaced) {}
    for item in dropped { callOut { item.onDrop?() } }
    startNext()
  }

  /// Waits until nothing waits or runs.
  func drain() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        let isIdle = state.waiting.isEmpty && state.running.isEmpty
        if !isIdle { state.idle.append(continuation) }
        return isIdle
      }
      if isIdle { callOut { continuation.resume() } }
    }
  }

  /// Drops what waits, and accepts nothing more.
  func close() {
    // Released after the lock, as in add.
    let (waiting, idle) = state.withLock { state -> ([Item], [CheckedContinuation<Void, Never>]) in
      defer { (state.isClosed, state.waiting, state.bytes) = (true, [], 0) }
      state.dropped += UInt64(state.waiting.count)
      return (state.waiting, state.takeIdle())
    }
    withExtendedLifetime(waiting) {}
    for waiter in idle { callOut { waiter.resume() } }
  }

  private func startNext() {
    let item = state.withLock { $0.running.count < atOnce ? $0.takeNext() : nil }
    guard let item else { return }
    Task { [self] in
      var next: Item? = item
      while let running = next {
        await running.run()
        next = end(running.key)
      }
    }
  }

  private func end(_ key: ByteString) -> Item? {
    let (next, idle) = state.withLock { state -> (Item?, [CheckedContinuation<Void, Never>]) in
      state.running.remove(key)
      return (state.takeNext(), state.takeIdle())
    }
    for waiter in idle { callOut { waiter.resume() } }
    return next
  }
}

extension UploadQueue.State {
  /// Takes the oldest offer whose key has none under way.
  fileprivate mutating func takeNext() -> UploadQueue.Item? {
    guard let place = waiting.firstIndex(where: { !running.contains($0.key) }) else { return nil }
    let item = waiting.remove(at: place)
    bytes -= item.bytes
    running.insert(item.key)
    return item
  }

  fileprivate mutating func takeIdle() -> [CheckedContinuation<Void, Never>] {
    guard running.isEmpty else { return [] }
    defer { idle = [] }
    return idle
  }
}
