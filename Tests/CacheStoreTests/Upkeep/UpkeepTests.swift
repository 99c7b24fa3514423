import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

@Suite struct UpkeepTests {
  let sandbox = StoreSandbox()

  @Test func `nothing is done to a store that is not open yet`() {
    let upkeep = Upkeep(Options())
    upkeep.request(.reconcile)
    #expect(upkeep.state.wait { !$0.isRunning && Array($0.dueAt.keys) == [.reconcile] })
    upkeep.stop()
  }

  /// What keeps tree and journal from being compared.
  enum Trouble: CaseIterable {
    case keysCannotBeOpened, journalCannotBeWritten

    func fault(_ call: FileCall) -> SystemError? {
      switch self {
      case .keysCannotBeOpened: call.kind == .open && call.name.count == 30 ? .inputOutput : nil
      case .journalCannotBeWritten: call.kind == .write ? SystemError(ENOSPC) : nil
      }
    }
  }

  @Test(arguments: Trouble.allCases)
  func `a comparison that fails is done again, and the journal is whole`(trouble: Trouble) throws {
    let first = try sandbox.open()
    for number in 0..<20 { try first.put([UInt8(number)], for: ByteString("\(number)")) }
    first.close()
    sandbox.remove("journal")
    let files = FaultyFiles()
    files.faults.set(trouble.fault)
    let store = try sandbox.open(Options(fileSystem: files))
    store.waitUntilIdle()
    #expect(!store.catalog.isJournalWhole)
    files.faults.set(nil)
    let failed = store.upkeep.state.change { $0.dueAt.updateValue(0, forKey: .reconcile) }
    #expect(failed != nil, "it is to be done again")
    store.waitUntilIdle()
    #expect(store.catalog.isJournalWhole)
    #expect(store.statistics.isComplete && store.statistics.entries == 20)
  }

  @Test func `a store rests by itself, also after it was compared`() throws {
    let first = try sandbox.open()
    try first.put([1], for: "a")
    first.close()
    sandbox.remove("lock")
    let store = try sandbox.open()
    defer { store.close() }
    store.waitUntilIdle()
    for number in UInt8(2)...3 {
      try store.put([number], for: "a")
      // The first time it was changed since the last one, perhaps the second, too: access times.
      for _ in 0..<3 {
        store.upkeep.state.change { state in
          if state.dueAt[.rest] != nil { state.dueAt[.rest] = 0 }
        }
        store.waitUntilIdle()
      }
      #expect(sandbox.sessions.isEmpty)
    }
  }

  @Test func `a store that is released at once completes the comparison`() throws {
    for number in 0..<20 {
      let first = try sandbox.open()
      try first.put([1], for: ByteString("\(number)"))
      first.close()
      try FileManager.default.createDirectory(
        atPath: sandbox.inside("staging/00000000000000aa"), withIntermediateDirectories: true)
      _ = try sandbox.open()
      #expect(sandbox.sessions == [])
    }
  }

  /// Owns a store, and releases it in the middle of a call of the upkeep.
  private final class Owner: StoreSizeDelegate {
    let store = Mutex<Store?>(nil)
    let isEnding = Atomic<Bool>(false)

    func size(of statistics: Statistics) -> UInt64 {
      if isEnding.load(ordering: .relaxed) { store.withLock { $0 = nil } }
      return statistics.allocatedBytes
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `the last reference may be released on the thread of the upkeep`() async throws {
    let first = try sandbox.open()
    try first.put([1], for: "a")
    try first.remove("a")
    first.close()
    sandbox.remove("journal")
    let owner = Owner()
    func open() throws -> (Upkeep, AsyncStream<StoreEvent>) {
      let store = try sandbox.open(
        Options(limits: Limits(bytes: 1 << 30), sizeDelegate: owner))
      owner.store.withLock { $0 = store }
      return (store.upkeep, store.events())
    }
    let (upkeep, ends) = try open()
    owner.isEnding.store(true, ordering: .relaxed)
    upkeep.request(.reconcile)
    // The stream ends when the store is closed.
    for await _ in ends {}
  }

  @Test func `one key that cannot be read keeps no other out of the index`() throws {
    let first = try sandbox.open()
    for number in 0..<20 { try first.put([UInt8(number)], for: ByteString("\(number)")) }
    let name = first.hash(of: "3")
    first.close()
    sandbox.remove("journal")
    let files = FaultyFiles()
    files.faults.set { $0.kind == .open && $0.name == name ? .inputOutput : nil }
    let store = try sandbox.open(Options(fileSystem: files))
    store.waitUntilIdle()
    #expect(store.statistics.entries == 19)
    #expect(!store.catalog.isJournalWhole)
  }

  @Test func `a comparison asked for during one that fails is done at once`() throws {
    let first = try sandbox.open()
    try first.put([1], for: "a")
    let name = first.hash(of: "a")
    first.close()
    sandbox.remove("journal")
    let files = FaultyFiles()
    let asks = Mutex<(upkeep: Upkeep?, isDone: Bool)>((nil, false))
    files.faults.set { call in
      guard call.kind == .open, call.name == name else { return nil }
      return asks.withLock { asks in
        if asks.isDone { return nil }
        if let upkeep = asks.upkeep {
          upkeep.requestReconciling()
          asks.isDone = true
        }
        return .inputOutput
      }
    }
    let store = try sandbox.open(Options(fileSystem: files))
    store.waitUntilIdle()
    #expect(store.statistics.entries == 0)
    asks.withLock { $0.upkeep = store.upkeep }
    store.upkeep.requestReconciling()
    store.waitUntilIdle()
    #expect(store.statistics.entries == 1)
  }
}

extension Store {
  /// The name of the directory of a key in its shard.
  fileprivate func hash(of key: ByteString) -> String { Layout.key(catalog.hash(key)).text }
}
