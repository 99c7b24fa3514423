import CacheStore
import CacheSystem
import SimulatedFiles
import TestSupport
import Testing

/// What is taken for a store without a good store.json.
@Suite struct StorePlaceEvidenceTests {
  @Test(arguments: [Durability.process, .full])
  func `a new store opens after a loss of power at any call`(durability: Durability) throws {
    var places = 0
    while let struck = use(durability, losesPowerAt: places + 1) {
      places += 1
      for profile in PowerLossProfile.allCases {
        for seed in 0..<UInt64(TestScale.isFull ? 200 : 10) {
          let left = struck.afterPowerLoss(profile, seed: seed == 0 ? nil : seed)
          let store = try open(durability, boot: 2, SimulatedProcess(on: left))
          try store.put([2], for: "b")
          #expect(store.lookUp("b").entry?.body == [2])
          store.close()
        }
      }
    }
    #expect(places > 20)
  }

  /// Makes a store and uses it twice. The power goes before a change of the file system.
  ///
  /// - Returns: nil if there are fewer changes.
  private func use(_ durability: Durability, losesPowerAt place: Int) -> SimulatedVolume? {
    let volume = SimulatedVolume()
    let fault = SimulatedFault(.losePower, at: place, matching: \.isChange)
    let process = SimulatedProcess(on: volume, fault: fault)
    for _ in 0..<2 {
      guard let store = try? open(durability, boot: 1, process) else { break }
      _ = try? store.put([1], for: "a")
      store.close()
    }
    return process.struck == nil ? nil : volume
  }

  private func open(
    _ durability: Durability, boot: UInt8, _ process: SimulatedProcess
  ) throws -> Store {
    var options = Options(durability: durability, fileSystem: process)
    options.bootName = [boot]
    return try Store(at: "/store", options: options)
  }
}
