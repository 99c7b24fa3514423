import CLibrary
import CacheSystem
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

/// syncfs(2) fails once: what was to be written is lost on the disk, and the next call succeeds.
@Suite(.timeLimit(.minutes(5))) struct SettlerFailedSyncTests {
  private let volume = SimulatedVolume()
  /// Also some that go into the metadata files.
  private let bodies: [[UInt8]] = (0..<12).map {
    TestBody.make($0 < 4 ? 500 : 3_000, seed: UInt64($0))
  }
  private let shared = TestBody.make(2_000, seed: 77)

  private func open(
    _ process: SimulatedProcess, _ durability: Durability, boot: UInt8 = 1
  ) throws -> Store {
    var options = Options(settling: .within(seconds: 3_600), fileSystem: process)
    options.durability = durability
    options.bootName = [boot]
    return try Store(at: CrashScenario.path, options: options)
  }

  private func fill(_ store: Store) throws {
    for (number, body) in bodies.enumerated() { try store.put(body, for: "\(number)") }
    for key: ByteString in ["a", "b"] {
      for variant: UInt64 in [0, 1] { try store.put(shared, for: key, variant: variant) }
    }
    try store.settle()
  }

  private func expectAll(in store: Store) {
    for (number, body) in bodies.enumerated() {
      #expect(store.lookUp("\(number)").entry?.body == body)
    }
    for key: ByteString in ["a", "b"] {
      for variant: UInt64 in [0, 1] {
        #expect(store.lookUp(key, variant: variant).entry?.body == shared)
      }
    }
  }

  private func isVolumeSync(_ operation: SimulatedOperation) -> Bool {
    operation.kind == .synchronize && operation.name == CrashScenario.path
  }

  @Test(arguments: [Durability.process, .full], [false, true])
  func `bodies stay in the log until their files are written anew`(
    durability: Durability, restarts: Bool
  ) throws {
    var process = SimulatedProcess(on: volume)
    var store = try open(process, durability)
    try fill(store)
    process.setFault(SimulatedFault(.fail(.inputOutput), at: 1) { isVolumeSync($0) })
    #expect(throws: StoreError.self) { try store.purge() }
    #expect(process.struck != nil)
    expectAll(in: store)
    if restarts {
      store.close()
      process = SimulatedProcess(on: volume)
      store = try open(process, durability)
    }
    try store.purge()
    expectAll(in: store)
    // The upkeep renews the journal, too, after a failed sync.
    store.waitUntilIdle()
    let charged = store.statistics.chargedBytes
    let tree = CrashTree(volume)
    #expect(tree.allocatedBytes + tree.journalBytes <= store.statistics.allocatedBytes)
    // The kernel writes everything in time.
    try store.settler.volumeSync.flush()
    let left = volume.afterPowerLoss(.posix, seed: nil)
    let again = try open(SimulatedProcess(on: left), durability, boot: 2)
    expectAll(in: again)
    again.waitUntilIdle()
    expectAll(in: again)
    #expect(again.statistics.chargedBytes == charged)
    again.close()
  }

  @Test(arguments: [PowerLossProfile.ext4, .posix], [UInt64(0), 1])
  func `a variant that is on the disk keeps its file`(
    profile: PowerLossProfile, first: UInt64
  ) throws {
    let process = SimulatedProcess(on: volume)
    let store = try open(process, .full)
    try store.put(shared, for: "a", variant: first)
    try store.settle()
    try store.purge()
    try store.put(shared, for: "a", variant: 1 - first)
    try store.settle()
    process.setFault(SimulatedFault(.fail(.inputOutput), at: 1) { isVolumeSync($0) })
    #expect(throws: StoreError.self) { try store.purge() }
    process.setFault(SimulatedFault(.endBefore, at: 1) { isVolumeSync($0) })
    #expect(throws: StoreError.self) { try store.purge() }
    for seed in 0..<8 as Range<UInt64> {
      let left = volume.afterPowerLoss(profile, seed: seed == 0 ? nil : seed)
      let again = try open(SimulatedProcess(on: left), .full, boot: 2)
      again.waitUntilIdle()
      for variant: UInt64 in [0, 1] {
        #expect(again.lookUp("a", variant: variant).entry?.body == shared)
      }
      again.close()
    }
  }

  @Test func `a failure that another thread sees counts`() throws {
    let disk = FaultyFiles()
    let sandbox = StoreSandbox()
    var options = Options(fileSystem: disk)
    options.isSupervised = true
    let first = try sandbox.open(Options(), settling: .within(seconds: 3_600))
    try first.put(shared, for: "format 2")
    first.close()
    let store = try sandbox.open(options, settling: .within(seconds: 3_600))
    try store.put(shared, for: "a")
    try store.settle()
    let volume = store.settler.volumeSync
    let failures = volume.failureCount
    disk.faults.set { $0.kind == .synchronize ? .inputOutput : nil }
    #expect(throws: StoreError.self) { try volume.flush() }
    disk.faults.set(nil)
    // This caller asked before the failure.
    #expect(throws: StoreError.self) {
      try volume.flush(unlessFailedSince: failures, endsRepetition: true)
    }
    #expect(volume.hasUnwrittenFiles)
    try store.purge()
    #expect(!volume.hasUnwrittenFiles)
    #expect(store.lookUp("a").entry?.body == shared)
    store.close()
  }

  @Test func `the volume counts as synchronized when it was written anew`() throws {
    let process = SimulatedProcess(on: volume)
    let store = try open(process, .full)
    try fill(store)
    process.setFault(SimulatedFault(.fail(.inputOutput), at: 1, lasts: true) { isVolumeSync($0) })
    for _ in 0..<2 { #expect(throws: StoreError.self) { try store.purge() } }
    #expect(store.settler.volumeSync.hasUnwrittenFiles)
    process.setFault(nil)
    // This call asks the upkeep.
    #expect(throws: StoreError.self) { try store.settler.volumeSync.synchronize() }
    store.waitUntilIdle()
    #expect(!store.settler.volumeSync.hasUnwrittenFiles)
    try store.settler.volumeSync.synchronize()
    // The system has reported that it has lost bytes of the journal, too, which is written anew already.
    try store.purge()
    expectAll(in: store)
    store.close()
  }
}
