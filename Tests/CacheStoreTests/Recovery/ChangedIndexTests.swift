import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

/// The index is built anew, or the journal cannot be read or turns out to be damaged, while tree and
/// journal are compared.
@Suite struct ChangedIndexTests {
  private let sandbox = StoreSandbox()
  private let disk = FaultyFiles()

  private func open() throws -> Store {
    var options = Options(fileSystem: disk)
    options.bootName = [1]
    // The test itself compares.
    options.isSupervised = true
    return try sandbox.open(options)
  }

  private func fill() throws {
    let store = try open()
    for number in 0..<200 {
      try store.put(TestBody.make(2_000, seed: UInt64(number)), for: ByteString("\(number)"))
    }
    for number in 0..<100 { try store.remove(ByteString("\(number)")) }
    store.close()
    plantDeadSession()
  }

  private func plantDeadSession() {
    try? FileManager.default.createDirectory(
      atPath: sandbox.inside("staging/00000000000000aa"), withIntermediateDirectories: true)
  }

  /// Compares, and calls `body` when the body of one entry is looked for.
  private func compare(_ store: Store, _ body: @escaping @Sendable () -> Void) -> Bool {
    let isFirst = Atomic<Bool>(true)
    disk.faults.set { call in
      if call.kind == .open, call.name.hasSuffix(".body"), call.name >= "80",
        isFirst.exchange(false, ordering: .relaxed)
      {
        body()
      }
      return nil
    }
    defer { disk.faults.set(nil) }
    let isDone = store.recovery.reconcile()
    let wasCalled = !isFirst.load(ordering: .relaxed)
    #expect(wasCalled)
    return isDone
  }

  @Test func `an index that is built anew meanwhile leaves no body out`() throws {
    try fill()
    for body in sandbox.bodies { sandbox.remove(body) }
    let store = try open()
    defer { store.close() }
    #expect(store.statistics.entries == 100)
    let isDone = compare(store) {
      // The numbers of slots are lower ones when the journal without the removed entries was read.
      try? store.compactor.purge()
      store.catalog.state.withLock { store.catalog.reader.reload(&$0) }
    }
    #expect(isDone && store.statistics.entries == 0)
    #expect(sandbox.sessions == [])
  }

  @Test
  func `a journal that has lost records is not written anew before all is recovered`() throws {
    try fill()
    let (segment, mark) = (try #require(sandbox.segments.last), sandbox.bytes("lock"))
    let records = sandbox.bytes(segment)
    var store = try open()
    let body = TestBody.make(2_000, seed: 7)
    try store.put(body, for: "lost")
    let folder = sandbox.inside("entries/\(Layout.keyPath(store.catalog.hash("lost")).text)")
    store.close()
    // The journal has lost the record, and a key that had no files when it was compared proves it.
    sandbox.overwrite(segment, records)
    sandbox.overwrite("lock", mark)
    let hidden = sandbox.path + "/hidden"
    try FileManager.default.moveItem(atPath: folder, toPath: hidden)
    plantDeadSession()
    store = try open()
    defer { store.close() }
    let isDone = compare(store) { [store] in
      try? FileManager.default.moveItem(atPath: hidden, toPath: folder)
      let end = store.catalog.state.withLock { $0.journal.sequence }
      try? store.catalog.writer.noteLostRecords(through: end + 1)
    }
    #expect(!isDone && !store.catalog.isIndexWhole && sandbox.sessions.count == 1)
    #expect(store.recovery.reconcile() && store.catalog.isIndexWhole)
    #expect(store.lookUp("lost").entry?.body == body && sandbox.sessions == [])
  }

  @Test func `a record that is found damaged meanwhile is not forgotten`() throws {
    try fill()
    sandbox.flip(try #require(sandbox.segments.first), at: SegmentHeader.count + 24)
    let store = try open()
    var options = Options()
    options.isSupervised = true
    let other = try sandbox.open(options)
    let key = try #require(
      (0..<10_000).map { ByteString("key\($0)") }
        .first { Layout.shardNumber(of: store.catalog.hash($0)) == 0 })
    let isFirst = Atomic<Bool>(true)
    disk.faults.set { [sandbox] call in
      if call.kind == .open, call.name == "c0", isFirst.exchange(false, ordering: .relaxed) {
        guard let segment = sandbox.segments.last else { return nil }
        let end = sandbox.bytes(segment).count
        _ = try? other.put(TestBody.make(20_000, seed: 5), for: key)
        sandbox.flip(segment, at: end + 24)
        _ = try? other.put([1], for: "next")
      }
      return nil
    }
    #expect(!store.recovery.reconcile() && !store.catalog.isIndexWhole)
    disk.faults.set(nil)
    let wasCalled = !isFirst.load(ordering: .relaxed)
    #expect(wasCalled)
    #expect(store.recovery.reconcile() && store.catalog.isIndexWhole)
    // What was removed is needed no more.
    let isForgotten = store.catalog.state.withLock { $0.removals == nil }
    #expect(isForgotten)
    let isFound = store.lookUp(key).entry?.body == TestBody.make(20_000, seed: 5)
    #expect(isFound && store.statistics.entries == 102)
    for store in [store, other] { store.close() }
  }

  @Test func `keys do not count as compared while the journal cannot be read`() throws {
    try fill()
    let metadata = try #require(sandbox.metadataFiles.first)
    let shard = String(metadata.dropFirst(8).prefix(2))
    let leftover =
      metadata.split(separator: "/").dropLast().joined(separator: "/") + "/00000000000000aa.json"
    #expect(FileManager.default.createFile(atPath: sandbox.inside(leftover), contents: Data([1])))
    let store = try open()
    defer { store.close() }
    // All keys are searched first, and then those of each shard that differs are compared.
    let present = Mutex("")
    let isSearched = Mutex(false)
    disk.faults.set { call in
      if call.kind == .open, call.name.count == 2 {
        present.withLock { $0 = call.name }
        if call.name == "ff" { isSearched.withLock { $0 = true } }
      }
      let isUnread = present.withLock { $0 } == shard && isSearched.withLock { $0 }
      return isUnread && call.kind == .length ? .inputOutput : nil
    }
    #expect(!store.recovery.reconcile())
    disk.faults.set(nil)
    #expect(sandbox.sessions.count == 1)
    #expect(store.recovery.reconcile())
    #expect(sandbox.sessions == [] && !sandbox.metadataFiles.contains(leftover))
  }

  @Test func `a comparison is complete only when it has removed what it must`() throws {
    try fill()
    let metadata = try #require(sandbox.metadataFiles.first)
    let leftover =
      metadata.split(separator: "/").dropLast().joined(separator: "/") + "/00000000000000aa.json"
    #expect(FileManager.default.createFile(atPath: sandbox.inside(leftover), contents: Data([1])))
    let store = try open()
    disk.faults.set { call in
      call.kind == .removeFile && call.name == "00000000000000aa.json" ? .inputOutput : nil
    }
    for _ in 0..<2 { #expect(!store.recovery.reconcile() && sandbox.sessions.count == 1) }
    disk.faults.set(nil)
    #expect(store.recovery.reconcile())
    #expect(sandbox.sessions == [] && !sandbox.metadataFiles.contains(leftover))
    store.close()
  }

  @Test func `a comparison after a failed sync keeps what a loss of power brings back`() throws {
    let volume = SimulatedVolume()
    let process = SimulatedProcess(on: volume)
    func open(_ process: SimulatedProcess) throws -> Store {
      var options = Options(durability: .full, settling: .atOnce, fileSystem: process)
      options.bootName = [1]
      options.isSupervised = true
      return try Store(at: CrashScenario.path, options: options)
    }
    let bodies = [UInt64(1), 2].map { TestBody.make(40_000, seed: $0) }
    let store = try open(process)
    try store.put(bodies[0], for: "k")
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 1) { call in
        call.kind == .synchronize && call.name.hasSuffix(".log")
      })
    #expect(throws: StoreError.self) { try store.put(bodies[1], for: "k") }
    #expect(store.recovery.reconcile())
    process.end()
    for seed in 0..<16 as Range<UInt64> {
      let left = SimulatedProcess(on: volume.afterPowerLoss(.posix, seed: seed))
      let body = try open(left).lookUp("k").entry?.body
      #expect(body.map(bodies.contains) == true, "seed \(seed)")
    }
  }

  @Test(arguments: [true, false])
  func `only what no comparison has mended shows at the next opening`(isMended: Bool) throws {
    let store = try open()
    try store.put([1], for: "k")
    disk.faults.set { $0.kind == .removeFile ? .inputOutput : nil }
    try store.remove("k")
    #expect(sandbox.metadataFiles.count == 1)
    if isMended { disk.faults.set(nil) }
    #expect(store.recovery.reconcile() == isMended)
    disk.faults.set(nil)
    store.close()
    #expect(sandbox.sessions.count == (isMended ? 0 : 1))
    #expect(sandbox.metadataFiles.count == (isMended ? 0 : 1))
  }

  @Test func `a file that a living neighbour could not remove proves no lost records`() throws {
    let store = try open()
    defer { store.close() }
    let files = FaultyFiles()
    var options = Options(fileSystem: files)
    options.isSupervised = true
    let neighbour = try sandbox.open(options)
    defer { neighbour.close() }
    try neighbour.put(TestBody.make(2_000, seed: 1), for: "removed")
    files.faults.set { $0.kind == .removeFile ? .inputOutput : nil }
    #expect(try neighbour.remove("removed") == 1)
    #expect(sandbox.metadataFiles.count == 1)
    #expect(store.recovery.reconcile())
    #expect(!store.contains("removed") && sandbox.metadataFiles.isEmpty)
    #expect(store.statistics.journalDamages == 0)
  }
}
