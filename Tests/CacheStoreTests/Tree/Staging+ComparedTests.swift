import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@testable import CacheStore

/// Short-lived programs compare tree and journal one after the other.
@Suite struct StagingComparedTests {
  private let sandbox = StoreSandbox()
  private let disk = FaultyFiles()

  private func open(boot: UInt8 = 1) throws -> Store {
    var options = Options(fileSystem: disk)
    options.bootName = [boot]
    // The test itself compares.
    options.isSupervised = true
    return try sandbox.open(options)
  }

  private func leaveDeadSession(boot: UInt8 = 1) throws {
    let staging = Staging(
      try open(boot: boot).catalog.place,
      {
        var options = Options(fileSystem: disk)
        options.bootName = [boot]
        return options
      }())
    let session = try staging.makeSession()
    // The process was killed: its files are left, and its lock is free.
    disk.unlock(session.directory.raw)
    withExtendedLifetime(session) {}
  }

  /// Compares, while a shard cannot be read.
  private func compare(_ store: Store, without shard: String? = nil) -> (Bool, Set<String>) {
    disk.faults.set { call in
      call.kind == .open && call.name == shard ? .inputOutput : nil
    }
    defer { disk.faults.set(nil) }
    let isDone = store.recovery.reconcile()
    let names = disk.faults.calls.filter { $0.kind == .open && $0.name.count == 2 }.map(\.name)
    return (isDone, Set(names))
  }

  private func fill() throws {
    let store = try open()
    for number in 0..<400 { try store.put([1], for: "\(number)") }
    store.close()
    // A program that is no longer known has left a file.
    let key = try #require(sandbox.metadataFiles.first)
    try Data([1]).write(
      to: URL(
        fileURLWithPath: sandbox.inside(
          key.split(separator: "/").dropLast().joined(separator: "/") + "/00000000000000aa.json")))
  }

  @Test func `the next program continues`() throws {
    try fill()
    try leaveDeadSession()
    var store = try open()
    #expect(store.lookUp("1").entry != nil)
    let (isFirstDone, first) = compare(store, without: "80")
    #expect(!isFirstDone && first.count == 0x100)
    store.close()
    store = try open()
    let (isDone, second) = compare(store)
    #expect(isDone)
    // Only that shard is read again that has something to be put right.
    #expect(second.contains("80") && second.count <= 2)
    #expect(!sandbox.metadataFiles.contains { $0.hasSuffix("00000000000000aa.json") })
    store.close()
    #expect(sandbox.sessions == [])
  }

  @Test func `shards with differences are not searched again`() throws {
    try fill()
    // Each shard has something to be put right.
    for key in sandbox.metadataFiles {
      let folder = sandbox.inside(key.split(separator: "/").dropLast().joined(separator: "/"))
      try Data([1]).write(to: URL(fileURLWithPath: folder + "/00000000000000bb.json"))
    }
    try leaveDeadSession()
    let files = sandbox.metadataFiles
    let middle = String(files[files.count / 2].dropFirst(8).prefix(2))
    var store = try open()
    #expect(!compare(store, without: "ff").0)
    store.close()
    for _ in 0..<2 {
      store = try open()
      #expect(!compare(store, without: middle).0)
      store.close()
    }
    store = try open()
    let (isDone, last) = compare(store)
    #expect(isDone)
    #expect(last.contains(middle) && !last.contains { $0 < middle })
    #expect(!sandbox.metadataFiles.contains { $0.hasSuffix("bb.json") })
    store.close()
  }

  /// Compares until the bodies of one shard from the middle on have been checked, and closes the store.
  ///
  /// - Returns: the shards with a body that was checked.
  private func checkBodies(_ store: Store, endsEarly: Bool) -> (Bool, Set<String>) {
    @Sendable func isBody(_ call: FileCall) -> Bool {
      call.kind == .open && call.name.hasSuffix(".body")
    }
    disk.faults.set { call in
      if endsEarly, isBody(call), call.name >= "80" { store.upkeep.end() }
      return nil
    }
    let isDone = store.recovery.reconcile()
    let calls = disk.faults.calls
    disk.faults.set(nil)
    store.close()
    let keys = Set(calls.filter { $0.kind == .open && $0.name.count == 2 }.map(\.name))
    // Only a body that is set aside opens its shard.
    #expect(endsEarly || keys.count == 1)
    return (isDone, Set(calls.filter(isBody).map { String($0.name.prefix(2)) }))
  }

  @Test func `bodies that were there are not looked for again`() throws {
    let filling = try open()
    for number in 0..<400 { try filling.put(Self.body(number), for: "\(number)") }
    filling.close()
    try leaveDeadSession()
    let (isFirstDone, first) = checkBodies(try open(), endsEarly: true)
    #expect(!isFirstDone && first.count > 50)
    let shards = Set(sandbox.bodies.map { String($0.dropFirst(8).prefix(2)) })
    sandbox.remove(try #require(sandbox.bodies.last))
    let (isDone, second) = checkBodies(try open(), endsEarly: false)
    #expect(isDone && second.isDisjoint(with: first))
    #expect(first.union(second) == shards && sandbox.sessions == [])
    let store = try open()
    #expect(store.statistics.entries == 399)
    store.close()
  }

  @Test func `a session that could not be removed costs no second comparison`() throws {
    try fill()
    try leaveDeadSession()
    var store = try open()
    disk.faults.set { $0.kind == .removeDirectory ? .inputOutput : nil }
    #expect(store.recovery.reconcile())
    disk.faults.set(nil)
    store.close()
    #expect(sandbox.sessions.count == 1)
    store = try open()
    let (isDone, shards) = compare(store)
    #expect(isDone && shards.isEmpty)
    store.close()
    #expect(sandbox.sessions == [])
  }

  private static func body(_ number: Int) -> [UInt8] { TestBody.make(2_000, seed: UInt64(number)) }

  @Test(arguments: ["killed", "restarted", "damaged", "unknown", "longer"])
  func `all is compared again`(why: String) throws {
    try fill()
    try leaveDeadSession()
    var store = try open()
    #expect(!compare(store, without: "80").0)
    let boot = store.catalog.tree.staging.bootBytes
    store.close()
    if why == "killed" { try leaveDeadSession() }
    let all = [UInt8](repeating: 3, count: 256)
    let contents = [
      "damaged": [1, 2], "unknown": boot + all.dropLast() + [4], "longer": boot + all + [3],
    ]
    if let bytes = contents[why] {
      let session = try #require(sandbox.sessions.first)
      sandbox.overwrite("staging/\(session)/compared", bytes)
    }
    store = try open(boot: why == "restarted" ? 2 : 1)
    let (isDone, shards) = compare(store)
    #expect(isDone && shards.count == 256)
    store.close()
    #expect(sandbox.sessions == [])
  }

  /// Opens a store whose machine has lost its power: there is no session, and no mark of a clean end. The
  /// upkeep cannot read the first shard.
  private func openAfterPowerLoss() throws -> Store {
    try fill()
    sandbox.overwrite("lock", [])
    var options = Options(fileSystem: disk)
    options.bootName = [2]
    disk.faults.set { $0.kind == .open && $0.name == "00" ? .inputOutput : nil }
    let store = try sandbox.open(options)
    #expect(store.catalog.state.withLock { $0.endedUncleanly })
    return store
  }

  @Test func `a store that is compared after it was relinquished is not compared again`() throws {
    let store = try openAfterPowerLoss()
    store.relinquish()
    #expect(sandbox.sessions.count == 1)
    disk.faults.set(nil)
    store.upkeep.requestReconciling()
    store.waitUntilIdle()
    #expect(sandbox.sessions == [])
    try store.put([1], for: "another")
    store.close()
    #expect(sandbox.sessions == [])
  }

  @Test func `another program that has the store open does not hide that it was not compared`()
    throws
  {
    let store = try openAfterPowerLoss()
    try store.put([1], for: "first")
    var options = Options()
    options.bootName = [2]
    let other = try sandbox.open(options)
    #expect(!other.catalog.state.withLock { $0.endedUncleanly })
    try other.put([1], for: "second")
    store.close()
    other.close()
    #expect(sandbox.sessions.count == 1)
    disk.faults.set(nil)
    #expect(compare(try open(boot: 2)).0)
  }

  @Test func `a store that can leave no session has no mark of a clean end`() throws {
    var store = try openAfterPowerLoss()
    disk.faults.set { call in
      call.kind == .makeDirectory || call.kind == .open && call.name == "00" ? .inputOutput : nil
    }
    store.close()
    disk.faults.set(nil)
    #expect(sandbox.sessions == [])
    store = try open(boot: 2)
    #expect(store.catalog.state.withLock { $0.endedUncleanly })
    store.close()
  }

  @Test(arguments: [false, true])
  func `a store that is closed before it was compared is compared later`(writes: Bool) throws {
    var store = try openAfterPowerLoss()
    if writes { try store.put([1], for: "another") }
    store.close()
    disk.faults.set(nil)
    #expect(sandbox.sessions.count == 1)
    store = try open(boot: 2)
    #expect(compare(store).0)
    store.close()
    #expect(sandbox.sessions == [])
    #expect(!sandbox.metadataFiles.contains { $0.hasSuffix("00000000000000aa.json") })
  }
}
