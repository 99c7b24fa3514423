import CacheFormat
import CacheSystem
import SimulatedFiles
import Synchronization
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

  @Test func `threads that come during a sync share the next one`() throws {
    let disk = FaultyFiles()
    let sandbox = StoreSandbox()
    let store = try sandbox.open()
    defer { store.close() }
    try store.put([1], for: "a")
    let segment = try #require(store.catalog.state.withLock { $0.journal.current })
    let sync = JournalSync()
    @Sendable func wait(forEnd end: Int64, readTo position: Int64) throws(SystemError) {
      try sync.wait(
        for: AppendedPlace(segment: segment, end: end), among: { [] }, readTo: { position },
        in: store.catalog.place.journal, disk)
    }
    let count = 8
    let done = Monitor(0)
    let isFirst = Atomic<Bool>(true)
    disk.faults.set { call in
      if call.kind == .synchronize, isFirst.exchange(false, ordering: .relaxed) {
        for thread in 1...count {
          try? startThread {
            let end = Int64(thread + 1)
            if (try? wait(forEnd: end, readTo: 9)) != nil { done.change { $0 += 1 } }
          }
        }
        // The one that syncs waits, too.
        while sync.waitingCount <= count {}
      }
      return nil
    }
    try wait(forEnd: 1, readTo: 1)
    done.wait { $0 == count ? () : nil }
    // The first one syncs the segment and its name; then one thread syncs for all others.
    #expect(disk.faults.calls.count { $0.kind == .synchronize } == 3)
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

  @Test func `no thread counts as waiting after another one has synced its old segment`() throws {
    let disk = FaultyFiles()
    let sandbox = StoreSandbox()
    let store = try sandbox.open()
    defer { store.close() }
    try store.put([1], for: "a")
    let path = sandbox.inside(try #require(sandbox.segments.last))
    // More than are remembered as synced.
    let segments = try (1...10).map { number in
      Segment(
        SegmentHeader(
          storeID: store.catalog.id, hashSeed: 0, number: number, created: Timestamp(nanoseconds: 0)
        ),
        file: try disk.open(userPath: path, [.read, .write]))
    }
    let sync = JournalSync()
    @Sendable func wait(for segment: Segment) throws(SystemError) {
      try sync.wait(
        for: AppendedPlace(segment: segment, end: 1), among: { segments }, readTo: { nil },
        in: store.catalog.place.journal, disk)
    }
    let hasLeft = Monitor(false)
    let count = Atomic<Int>(0)
    disk.faults.set { call in
      guard call.kind == .synchronize else { return nil }
      switch count.add(1, ordering: .relaxed).newValue {
      case 1:
        // While the oldest is being synced, a thread waits for it.
        try? startThread {
          try? wait(for: segments[0])
          hasLeft.change { $0 = true }
        }
        while sync.waitingCount < 2 {}
      case 2: hasLeft.wait { $0 ? () : nil }
      default: break
      }
      return nil
    }
    try wait(for: segments[9])
    #expect(sync.waitingCount == 0)
  }
}
