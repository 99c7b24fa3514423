import CacheSystem
import SimulatedFiles
import Testing

@testable import CacheStore

@Suite struct JournalSyncTests {
  @Test func `what another process may cut off and write again is not taken for synced`() throws {
    let process = SimulatedProcess(on: SimulatedVolume(), recordsTrace: true)
    let store = try Store(
      at: CrashScenario.path, options: Options(durability: .full, fileSystem: process))
    try store.put([1], for: "a")
    let catalog = store.catalog
    let (segment, end) = try #require(
      catalog.state.withLock { state in state.journal.current.map { ($0, state.journal.position) } }
    )
    func syncs(waitingFor end: Int64, readTo position: Int64) throws -> Int {
      let sync = { process.trace.count { $0.kind == .synchronize } }
      let before = sync()
      try shared.wait(
        for: AppendedPlace(segment: segment, end: end), among: { [] }, readTo: { position },
        in: catalog.place.journal, process)
      return sync() - before
    }
    let shared = JournalSync()
    // The begin of a record of a neighbour that is killed while it writes.
    try process.write(segment.file, [1, 2, 3, 4], at: end)
    #expect(try syncs(waitingFor: end, readTo: end) > 0)
    #expect(try syncs(waitingFor: end, readTo: end) == 0)
    // The next record takes the place of those bytes.
    #expect(try syncs(waitingFor: end + 4, readTo: end + 4) == 1)
    #expect(try syncs(waitingFor: end + 4, readTo: end + 4) == 0)
    #expect(shared.waitingCount == 0)
    store.close()
  }

  @Test func `no thread counts as waiting after its record is on disk`() async throws {
    let sandbox = StoreSandbox()
    let store = try sandbox.open(Options(durability: .full))
    try await withThrowingTaskGroup { group in
      for thread in 0..<8 {
        group.addTask {
          for number in 0..<20 { try store.put([1], for: "\(thread)/\(number)") }
        }
      }
      try await group.waitForAll()
    }
    #expect(store.statistics.entries == 160)
    #expect(store.catalog.journal.sync.waitingCount == 0)
  }

  @Test func `no thread counts as waiting after a failed sync`() throws {
    let disk = FaultyFiles()
    let sandbox = StoreSandbox()
    let store = try sandbox.open(Options(durability: .full, fileSystem: disk))
    try store.put([1], for: "a")
    disk.faults.set { $0.kind == .synchronize ? .inputOutput : nil }
    #expect(throws: StoreError.self) { try store.put([2], for: "b") }
    disk.faults.set(nil)
    try store.put([3], for: "c")
    #expect(store.catalog.journal.sync.waitingCount == 0)
  }
}
