import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import Synchronization

enum Change {
  case put(key: String, body: [UInt8], note: ByteString)
  /// In pieces, through a writer.
  case stream(key: String, body: [UInt8], note: ByteString)
  case remove(key: String)
  /// Another note; the body stays.
  case note(key: String, ByteString)
  case pin(key: String, Bool)
  case removeAll
  case limit(Limits)
  case trim(UInt64)
  /// Nothing that is promised: the upkeep does what is due.
  case rest
}

/// Says which change comes at which step: the same for the same seed.
typealias Plan = @Sendable (_ step: Int, _ count: Int, _ seed: Int, _ prefix: String) -> Change

/// Makes the changes of a plan, each announced and promised.
struct Workload: Sendable {
  private let store: Store
  private let plan: Plan
  private let seed: Int
  private let turns = Turns()
  private static let mostPinned = 5

  init(_ store: Store, _ plan: @escaping Plan, seed: Int) {
    self.store = store
    self.plan = plan
    self.seed = seed
  }

  /// Runs all steps, shared by some threads, and ends the process.
  func run(count: Int, threads: Int) {
    // What the keys begin with, so that processes on one store can have keys of their own.
    let prefix = environment("STOREPROBE_PREFIX")
    let failures = Atomic<Int>(0)
    let running = Monitor(threads)
    for thread in 0..<threads {
      start {
        for step in stride(from: thread, to: count, by: threads) {
          let change = plan(step, count, seed, prefix)
          if !make(change) { failures.add(1, ordering: .relaxed) }
        }
        running.change { $0 -= 1 }
      }
    }
    running.wait { $0 == 0 ? () : nil }
    if PlantedBug.isOn(.trap) { fatalError("planted") }
    store.close()
    exit(failures.load(ordering: .relaxed) > 0 ? 4 : 0)
  }

  private func start(_ body: @escaping @Sendable () -> Void) {
    do { try startThread(body) } catch { stop(4, "ERR thread \(error)") }
  }

  private func make(_ change: Change) -> Bool {
    do {
      switch change {
      case .put(let key, let body, let note):
        try turns.take(key) {
          let value = Value(body: body, note: note, isPinned: isPinned(key))
          try announce("P \(key) \(value)") {
            try store.put(body, for: ByteString(key), metadata: Value.metadata(note))
          }
        }
      case .stream(let key, let body, let note):
        try turns.take(key) {
          let value = Value(body: body, note: note, isPinned: isPinned(key))
          try announce("P \(key) \(value)") { try stream(key, body, note) }
        }
      case .remove(let key):
        try turns.take(key) {
          try announce("D \(key)") { try store.remove(ByteString(key)) }
        }
      case .note(let key, let note): try turns.take(key) { try amend(key, note) }
      case .pin(let key, let isPinned): try turns.take(key) { try setPin(key, isPinned) }
      case .removeAll:
        try turns.take(nil) { try announce("C all") { try store.removeAll() } }
      case .limit(let limits):
        try turns.take(nil) {
          try announce("L \(ChurnLimits.word(limits))") { try store.setLimits(limits) }
        }
      case .trim(let bytes): try store.trim(toBytes: bytes)
      case .rest:
        if Probe.settling != .atOnce { try store.settle() }
        store.waitUntilIdle()
      }
      return true
    } catch {
      // Too much is pinned already: nothing has changed, as announced.
      if (error as? StoreError)?.code == .pinQuotaExceeded { return true }
      say("ERR \(error)")
      return false
    }
  }

  private func announce(_ what: String, _ change: () throws -> Void) throws {
    try announce(
      what,
      ifFound: {
        try change()
        return true
      })
  }

  /// - Parameter change: returns false where there was nothing to change: another process may have
  ///   evicted the entry since it was looked at. Nothing is promised then.
  private func announce(_ what: String, ifFound change: () throws -> Bool) throws {
    say("TRY \(what)")
    if PlantedBug.isOn(.ackearly) { say("ACK \(what)") }
    if try change() { say("ACK \(what)") }
  }

  private func stream(_ key: String, _ body: [UInt8], _ note: ByteString) throws {
    let writer = try store.makeWriter(for: ByteString(key), metadata: Value.metadata(note))
    let pieces = 5
    for piece in 0..<pieces {
      try writer.write(
        Array(body[(body.count * piece / pieces)..<(body.count * (piece + 1) / pieces)]))
    }
    try writer.commit()
  }

  private func isPinned(_ key: String) -> Bool {
    store.info(for: ByteString(key))?.isPinned ?? false
  }

  private func amend(_ key: String, _ note: ByteString) throws {
    guard let info = store.info(for: ByteString(key)) else { return }
    var value = Value(info)
    value.note = Digest(hashing: note.bytes).low
    try announce(
      "P \(key) \(value)",
      ifFound: { try store.update(ByteString(key)) { $0 = Value.metadata(note) } })
  }

  private func setPin(_ key: String, _ isPinned: Bool) throws {
    guard let info = store.info(for: ByteString(key)) else { return }
    // So that there is always something to evict, however many processes come and go.
    if isPinned && store.statistics.pinnedEntries >= Self.mostPinned { return }
    var value = Value(info)
    value.isPinned = isPinned
    try announce(
      "P \(key) \(value)",
      ifFound: {
        isPinned ? try store.pin(ByteString(key)) : try store.unpin(ByteString(key))
      })
  }
}

/// One thread at a time changes a key, so that the lines tell the order of the changes.
private final class Turns: Sendable {
  private let taken = Mutex<Set<String>>([])
  private static let all = "*"

  /// - Parameter key: nil for all keys.
  func take(_ key: String?, _ body: () throws -> Void) rethrows {
    while !taken.withLock({ taken in
      if taken.contains(Self.all) || key == nil && !taken.isEmpty { return false }
      return taken.insert(key ?? Self.all).inserted
    }) { sched_yield() }
    defer { taken.withLock { _ = $0.remove(key ?? Self.all) } }
    try body()
  }
}
