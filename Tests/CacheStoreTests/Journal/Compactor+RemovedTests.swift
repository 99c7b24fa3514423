import CacheFormat
import CacheSystem
import SimulatedFiles
import Testing

@testable import CacheStore

/// Removals of a store with full durability, when the power is lost and only what was synced is there.
@Suite struct CompactorRemovedTests {
  private func open(_ volume: SimulatedVolume, _ fault: SimulatedFault? = nil) throws -> Store {
    var options = Options(
      durability: .full, settling: .atOnce, fileSystem: SimulatedProcess(on: volume, fault: fault))
    options.bootName = [1]
    return try Store(at: CrashScenario.path, options: options)
  }

  @Test(arguments: [0, 1])
  func `a removed entry is gone from the disk before its record is`(others: UInt64) throws {
    let volume = SimulatedVolume()
    let store = try open(volume)
    try store.put([1], for: "kept")
    for variant in 0...others { try store.put([2], for: "gone", variant: variant) }
    try store.remove("gone", variant: 0)
    try store.purge()
    let left = CrashTree(volume.afterPowerLoss(.posix, seed: nil))
    #expect(left.keys.count == (others == 0 ? 1 : 2))
    let hash = KeyHash(hashing: "gone", seed: store.hashSeed)
    let file = "\(CrashScenario.path)/entries/\(Layout.metadataPath(hash, 0).text)".dropFirst()
    #expect(volume.afterPowerLoss(.posix, seed: nil).tree[String(file)] == nil)
    store.close()
  }

  @Test func `entries that were moved back are where later ones are stored`() throws {
    let volume = SimulatedVolume()
    var store = try open(volume)
    try store.put([1], for: "a")
    store.close()
    // Opening syncs the folder of the store, too.
    store = try open(
      volume,
      SimulatedFault(.fail(.inputOutput), at: 2) {
        $0.kind == .synchronize && $0.name == CrashScenario.path
      })
    #expect(throws: StoreError.self) { try store.removeAll() }
    try store.put([2], for: "b")
    let left = volume.afterPowerLoss(.posix, seed: nil)
    let again = try open(left)
    again.waitUntilIdle()
    #expect(again.lookUp("a").entry?.body == [1])
    #expect(again.lookUp("b").entry?.body == [2])
    again.close()
    store.close()
  }

  @Test(arguments: [Durability.process, .full])
  func `the journal is written anew beside a thread that stores and removes`(
    durability: Durability
  ) throws {
    let sandbox = StoreSandbox()
    let store = try sandbox.open(Options(durability: durability))
    let count = durability == .full ? 150 : 3_000
    let isDone = Monitor(false)
    try startThread {
      for number in 0..<count {
        _ = try? store.put([UInt8(number & 0xFF)], for: ByteString("k\(number % 7)"))
        if number % 3 == 0 { _ = try? store.remove(ByteString("k\(number % 5)")) }
      }
      isDone.change { $0 = true }
    }
    while !isDone.change({ $0 }) { try store.purge() }
    store.close()
    #expect(try sandbox.open().statistics.journalDamages == 0)
  }

  @Test(arguments: [((16 << 20) - 1, true), (16 << 20, false)] as [(Int64, Bool)])
  func `a journal with 16 MiB of live records is not written anew for that`(
    live: Int64, isDue: Bool
  ) throws {
    let clock = SteppingClock()
    let sandbox = StoreSandbox()
    let first = try sandbox.open(Options(clock: clock))
    try first.put([1], for: "a")
    try first.remove("a")
    first.close()
    clock.move(seconds: 25 * 3_600)
    let store = try sandbox.open(Options(clock: clock))
    store.waitUntilIdle()
    store.catalog.state.withLock { $0.journal.segments[0]?.liveBytes += live }
    #expect(store.compactor.isPurgeDue == isDue)
    store.catalog.state.withLock { $0.journal.segments[0]?.liveBytes -= live }
  }
}
