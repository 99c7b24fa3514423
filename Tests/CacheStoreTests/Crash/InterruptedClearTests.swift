import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

/// A process is killed while it removes all entries, and others have the store open.
@Suite struct InterruptedClearTests {
  private let volume = SimulatedVolume()
  private let long = TestBody.make(40_000, seed: 7)

  private func open(
    _ process: SimulatedProcess, settling: Settling = .within(seconds: 3_600),
    boot: UInt8 = 1, isSupervised: Bool = false
  ) throws -> Store {
    var options = Options(durability: .full, settling: settling, fileSystem: process)
    options.bootName = [boot]
    options.isSupervised = isSupervised
    return try Store(at: CrashScenario.path, options: options)
  }

  /// Kills a process at each call of its `removeAll` in turn.
  private func forEachKill(
    settledEntries: Int = 0, isSupervised: Bool = false,
    preparing prepare: (_ store: Store, _ neighbour: Store) throws -> Void = { _, _ in },
    _ body: (_ neighbour: Store, _ volume: SimulatedVolume) throws -> Void
  ) throws {
    var place = 0
    var hasEnded = true
    while hasEnded {
      place += 1
      let volume = SimulatedVolume()
      let process = SimulatedProcess(on: volume)
      let neighbour = try open(SimulatedProcess(on: volume), isSupervised: isSupervised)
      let store = try open(process, isSupervised: isSupervised)
      try store.setLimits(Limits(bytes: 1 << 30))
      try store.put(long, for: "old")
      try store.put([1], for: "old, logged")
      for number in 0..<settledEntries { try store.put([1], for: ByteString("\(number)")) }
      if settledEntries > 0 { try store.settle() }
      try prepare(store, neighbour)
      process.setFault(SimulatedFault(.endBefore, at: place))
      try? store.removeAll()
      hasEnded = process.hasEnded
      process.end()
      try body(neighbour, volume)
      neighbour.close()
    }
    #expect(place > 8)
  }

  private func expectNew(in store: Store) {
    #expect(store.lookUp("new").entry?.body == long)
    #expect(store.lookUp("new, logged").entry?.body == [2])
    #expect(store.limits.bytes == 1 << 30)
  }

  /// Why the removal begins a segment.
  enum Begin: CaseIterable { case none, full, linked }

  private func prepare(_ store: Store, _ begin: Begin) throws {
    switch begin {
    case .none: break
    case .full: store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
    case .linked:
      let name = try #require(PathName(bytes: Array("00000001.log".utf8)))
      let journal = store.catalog.journal.place.journal.raw
      try store.fileSystem.link(name, in: journal, to: PathName("copy"), in: journal)
    }
  }

  @Test(arguments: Begin.allCases) func `what a neighbour stores after it stays`(_ begin: Begin)
    throws
  {
    try forEachKill(preparing: { store, _ in try prepare(store, begin) }) { neighbour, volume in
      try neighbour.put(long, for: "new")
      try neighbour.put([2], for: "new, logged")
      expectNew(in: neighbour)
      let hasOld = neighbour.lookUp("old").entry != nil
      #expect(hasOld == (neighbour.lookUp("old, logged").entry != nil))
      let other = try open(SimulatedProcess(on: volume))
      other.waitUntilIdle()
      expectNew(in: other)
      #expect(hasOld == (other.lookUp("old").entry != nil))
      other.close()
      neighbour.close()
      let last = try open(SimulatedProcess(on: volume))
      last.waitUntilIdle()
      expectNew(in: last)
      #expect(last.statistics.entries == (hasOld ? 4 : 2))
      last.close()
    }
  }

  @Test func `what the next process stores is not removed by the neighbour`() throws {
    try forEachKill { neighbour, volume in
      let next = try open(SimulatedProcess(on: volume), settling: .atOnce)
      try next.put(long, for: "new")
      try next.put([2], for: "new, logged")
      // It still had the old directory.
      try neighbour.put(long, for: "newest")
      for store in [next, neighbour] {
        store.waitUntilIdle()
        expectNew(in: store)
        #expect(store.lookUp("newest").entry?.body == long)
      }
      next.close()
    }
  }

  /// The power goes, and takes records that were not synced, but not the moved directory.
  @Test(arguments: 0..<12 as Range<UInt64>)
  func `what is stored after a power cut is not removed as older`(seed: UInt64) throws {
    try forEachKill(settledEntries: 20) { _, volume in
      let left = volume.afterPowerLoss(.ext4, seed: seed)
      let next = try open(SimulatedProcess(on: left), boot: 2, isSupervised: true)
      try next.put(long, for: "new")
      try next.put([2], for: "new, logged")
      let other = try open(SimulatedProcess(on: left), boot: 2)
      other.waitUntilIdle()
      for store in [next, other] {
        #expect(store.lookUp("new").entry?.body == long)
        #expect(store.lookUp("new, logged").entry?.body == [2])
        store.close()
      }
    }
  }

  /// Who knows that the journal is not whole.
  enum Knows: CaseIterable { case killedOne, neighbour, both }

  @Test(arguments: Knows.allCases)
  func `what a neighbour stores stays also if the journal has lost records`(knows: Knows) throws {
    func prepare(_ store: Store, _ neighbour: Store) throws {
      _ = neighbour.lookUp("old")
      let end = store.catalog.state.withLock { $0.journal.sequence }
      let lost = knows == .both ? 0 : end + 4
      if knows != .neighbour { try store.catalog.writer.noteLostRecords(through: lost) }
      if knows != .killedOne { try neighbour.catalog.writer.noteLostRecords(through: lost) }
    }
    try forEachKill(isSupervised: true, preparing: prepare) { neighbour, volume in
      try neighbour.put(long, for: "new")
      try neighbour.put([2], for: "new, logged")
      neighbour.recovery.reconcile()
      #expect(neighbour.lookUp("new").entry?.body == long)
      #expect(neighbour.lookUp("new, logged").entry?.body == [2])
      neighbour.close()
      let last = try open(SimulatedProcess(on: volume))
      last.waitUntilIdle()
      #expect(last.lookUp("new").entry?.body == long)
      #expect(last.lookUp("new, logged").entry?.body == [2])
      last.close()
    }
  }

  /// What shows that it was not completed has to stay until it is.
  private func expectCompletion(after fault: SimulatedFault) throws {
    var failures = 0
    try forEachKill { _, volume in
      let process = SimulatedProcess(on: volume)
      let next = try open(process, isSupervised: true)
      process.setFault(fault)
      if !next.recovery.reconcile() { failures += 1 }
      process.setFault(nil)
      #expect(next.recovery.reconcile())
      let hasOld = next.lookUp("old").entry != nil
      #expect(hasOld == (next.lookUp("old, logged").entry != nil))
      next.close()
    }
    #expect(failures > 0)
  }

  @Test(arguments: [SimulatedOperation.Kind.read, .write])
  func `it is completed although the journal fails for a while`(kind: SimulatedOperation.Kind)
    throws
  {
    try expectCompletion(
      after: SimulatedFault(.fail(.inputOutput), at: 1, lasts: true) {
        $0.kind == kind && $0.name.hasSuffix(".log")
      })
  }

  @Test(arguments: [1, 4])
  func `it is completed although there was no descriptor for a session`(place: Int) throws {
    try expectCompletion(
      after: SimulatedFault(.fail(SystemError(EMFILE)), at: place) {
        $0.kind == .open && PathName(bytes: $0.name.utf8).map(Layout.isSession) ?? false
      })
  }

  @Test func `a removal of all while another process reads the journal again`() throws {
    let sandbox = StoreSandbox()
    let faulty = FaultyFiles()
    var options = Options()
    options.fileSystem = faulty
    options.isSupervised = true
    let store = try sandbox.open(options)
    var supervised = Options()
    supervised.isSupervised = true
    let other = try sandbox.open(supervised)
    try store.put(long, for: "old")
    let end = store.catalog.state.withLock { $0.journal.sequence }
    let isDone = Mutex(false)
    faulty.faults.set { call in
      guard call.kind == .open, call.name.hasSuffix(".log") else { return nil }
      let isFirst = isDone.withLock { done in
        defer { done = true }
        return !done
      }
      if isFirst {
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          try? other.removeAll()
          ended.signal()
        }
        ended.wait()
      }
      return nil
    }
    try store.catalog.writer.noteLostRecords(through: end)
    faulty.faults.set(nil)
    #expect(isDone.withLock { $0 })
    try store.put(long, for: "new")
    // What the upkeep does after a removal of all.
    other.catalog.tree.staging.sweep(
      upTo: other.catalog.state.withLock { $0.journal.sequence }
    ) { true }
    #expect(store.lookUp("new").entry?.body == long)
    #expect(other.lookUp("new").entry?.body == long)
    store.close()
    other.close()
    let last = try sandbox.open()
    last.waitUntilIdle()
    #expect(last.lookUp("new").entry?.body == long)
    last.close()
  }

  @Test func `a removal that fails for good does not remove what is stored later`() throws {
    let process = SimulatedProcess(on: volume)
    let stores = [try open(process), try open(SimulatedProcess(on: volume))]
    try stores[0].put(long, for: "old")
    // Neither the record can be written, nor the directory moved back.
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 2, lasts: true) {
        $0.kind == .write && $0.name.hasSuffix(".log") || $0.kind == .rename
      })
    #expect(throws: StoreError.self) { try stores[0].removeAll() }
    process.setFault(nil)
    for (number, store) in stores.enumerated() { try store.put(long, for: "new\(number)") }
    for store in stores {
      for number in 0..<2 { #expect(store.lookUp("new\(number)").entry?.body == long) }
    }
    for store in stores { store.close() }
  }

  @Test func `a process that opens the store meanwhile waits for the new directory`() throws {
    let store = try open(SimulatedProcess(on: volume))
    try store.put(long, for: "key")
    store.close()
    // The directory is missing for a moment, which is the first call here.
    let process = SimulatedProcess(
      on: volume,
      fault: SimulatedFault(.fail(.notFound), at: 1) { $0.kind == .open && $0.name == "entries" })
    let other = try open(process)
    #expect(process.struck != nil)
    #expect(other.lookUp("key").entry?.body == long)
    other.close()
  }
}
