import CacheFormat
import CacheSystem
import SimulatedFiles
import Synchronization

@testable import CacheStore

/// Thrown to end the steps of a run whose process has ended.
struct RunEnded: Error {}

/// A store in a simulated process, and what its steps have tried and promised.
final class CrashRun: Sendable {
  let process: SimulatedProcess
  private let options: Options
  private let shared: Mutex<CrashLedger>
  private let opened = Mutex<Store?>(nil)

  init(_ process: SimulatedProcess, _ options: Options, _ ledger: CrashLedger) {
    self.process = process
    self.options = options
    shared = Mutex(ledger)
  }

  var ledger: CrashLedger { shared.withLock { $0 } }

  func store() throws -> Store {
    if let store = opened.withLock({ $0 }) { return store }
    throw RunEnded()
  }

  /// Opens the store.
  func open() throws {
    do throws(StoreError) {
      let store = try Store(at: CrashScenario.path, options: options)
      opened.withLock { $0 = store }
    } catch {
      if process.struck == nil { complain("the store does not open: \(error)") }
      throw RunEnded()
    }
  }

  func close() { opened.withLock { $0.take() }?.close() }

  func complain(_ text: String) { shared.withLock { $0.complain(text) } }

  /// Waits for the upkeep, so that each run makes the same calls.
  func settle() throws {
    try store().waitUntilIdle()
    if process.hasEnded { throw RunEnded() }
  }

  // MARK: Steps

  /// Writes the files of entries that are in the log. A failure leaves them there.
  func settleLog() throws {
    let store = try store()
    _ = try? store.settle()
    try settle()
  }

  /// Writes the journal anew. A failure leaves it as it is.
  func purge() throws {
    let store = try store()
    _ = try? store.purge()
    try settle()
  }

  /// Ends the session, as the upkeep does when nothing is changed any more.
  func rest() throws {
    let store = try store()
    for _ in 0..<2 { _ = store.catalog.writer.rest() }
    try settle()
  }

  /// Stores a body; `content` is that of another key where it is to be shared.
  func put(_ key: String, _ version: Int, content: String? = nil) throws {
    let content = content ?? "\(key) \(version)"
    try change(key, putting(content, version)) { store throws(StoreError) in
      try store.put(
        CrashValue.body(content), for: ByteString(key), metadata: EntryMetadata(status: version))
    }
    try settle()
  }

  /// Stores something when the fault is over. After failed syncs an attempt may fail that begins another
  /// segment, and one that has the upkeep write files anew. The third one has to succeed.
  func putAfterFault() throws {
    let store = try store()
    for _ in 0..<2 {
      _ = try? store.put(
        CrashValue.body("after 1"), for: "after", metadata: EntryMetadata(status: 1))
      try settle()
    }
    try put("after", 1)
  }

  /// Stores under several keys at once, each in a thread of its own; they share syncs.
  ///
  /// - Parameter meanwhile: called until they have ended.
  func putTogether(
    _ keys: [String], _ version: Int, meanwhile: (Store) -> Void = { _ in }
  ) throws {
    let running = Monitor(keys.count)
    for key in keys {
      try startThread { [self] in
        try? put(key, version)
        running.change { $0 -= 1 }
      }
    }
    let store = try store()
    func isAnyRunning() -> Bool { running.wait { $0 > 0 } }
    while isAnyRunning() { meanwhile(store) }
    running.wait { $0 == 0 ? () : nil }
    try settle()
  }

  /// Stores a body piece by piece.
  func stream(_ key: String, _ version: Int, pieceBytes: Int) throws {
    let content = "\(key) \(version)"
    try change(key, putting(content, version)) { store throws(StoreError) in
      let writer = try store.makeWriter(
        for: ByteString(key), metadata: EntryMetadata(status: version))
      let body = CrashValue.body(content)
      for start in stride(from: 0, to: body.count, by: pieceBytes) {
        try writer.write(Array(body[start..<min(start + pieceBytes, body.count)]))
      }
      try writer.commit()
    }
    try settle()
  }

  private func putting(
    _ content: String, _ version: Int
  ) -> @Sendable (CrashValue?) -> CrashValue? {
    { CrashValue(content: content, status: version, isPinned: $0?.isPinned ?? false) }
  }

  func remove(_ key: String) throws {
    try change(key, { _ in nil }) { store throws(StoreError) in
      try store.remove(ByteString(key))
    }
    try settle()
  }

  func setStatus(_ key: String, _ status: Int) throws {
    try change(
      key,
      { old in old.map { CrashValue(content: $0.content, status: status, isPinned: $0.isPinned) } }
    ) { store throws(StoreError) in
      try store.update(ByteString(key)) { $0.status = status }
    }
    try settle()
  }

  func pin(_ key: String, _ isPinned: Bool) throws {
    try change(
      key,
      { old in old.map { CrashValue(content: $0.content, status: $0.status, isPinned: isPinned) } }
    ) { store throws(StoreError) in
      _ = isPinned ? try store.pin(ByteString(key)) : try store.unpin(ByteString(key))
    }
    try settle()
  }

  func removeAll() throws {
    let before = ledger.allowed
    shared.withLock { ledger in
      for key in before.keys { ledger.attempt(key) { _ in nil } }
    }
    let outcome = try outcome { store throws(StoreError) in try store.removeAll() }
    shared.withLock { ledger in
      for (key, values) in before {
        switch outcome {
        case .promised: ledger.promise(key, values) { _ in nil }
        // What has been moved away is moved back, unless that fails as well.
        case .refused: if !process.isFaultLasting { ledger.refuse(key, values) }
        case .open: break
        }
      }
    }
    try settle()
  }

  func setLimits(_ limits: Limits) throws {
    _ = try outcome { store throws(StoreError) in try store.setLimits(limits) }
    shared.withLock { $0.mayEvict = limits.bytes != nil || limits.entries != nil }
    try settle()
  }

  /// Reads, and writes the access time to the journal.
  func touch(_ key: String) throws {
    let found = try store().lookUp(ByteString(key))
    shared.withLock { ledger in
      // Something may be out of reach while calls fail.
      if process.struck == nil { ledger.check(key, found, isPromised: true) }
    }
    _ = try outcome { store throws(StoreError) in try store.flush() }
  }

  // MARK: One change

  private enum Outcome {
    case promised, refused
    /// It may or may not count, as the store's documentation says of a sync that has failed.
    case open
  }

  private func change(
    _ key: String, _ change: @Sendable (CrashValue?) -> CrashValue?,
    _ body: (Store) throws(StoreError) -> Void
  ) throws {
    let before = shared.withLock { ledger in
      defer { ledger.attempt(key, change) }
      return ledger.values(key)
    }
    let outcome = try outcome(body)
    shared.withLock { ledger in
      switch outcome {
      case .promised: ledger.promise(key, before, change)
      case .refused: ledger.refuse(key, before)
      case .open: break
      }
    }
  }

  private func outcome(_ body: (Store) throws(StoreError) -> Void) throws -> Outcome {
    let store = try store()
    do throws(StoreError) {
      try body(store)
    } catch {
      if process.hasEnded { throw RunEnded() }
      guard process.struck != nil else {
        complain("a call fails without a fault: \(error)")
        return .open
      }
      // A sync begins by asking for the length. It need not be the first call that was struck: the
      // upkeep makes calls of its own.
      return process.struckKinds.isDisjoint(with: [.synchronize, .length]) ? .refused : .open
    }
    // What returned while the process was ending was promised to nobody.
    if process.hasEnded { throw RunEnded() }
    return .promised
  }

  /// Holds all that the store says against the ledger.
  func check(isPromised: Bool) {
    guard let store = opened.withLock({ $0 }) else { return }
    for key in ledger.allowed.keys.sorted() {
      let found = store.lookUp(ByteString(key))
      shared.withLock { $0.check(key, found, isPromised: isPromised) }
    }
    let known = Set(ledger.allowed.keys)
    for info in store.entries() where !known.contains(info.key.description) {
      complain("\(info.key) was never stored")
    }
  }
}
