import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@testable import CacheStore

@Suite(.timeLimit(.minutes(5))) struct PendingTouchesTests {
  let sandbox = StoreSandbox()
  let clock = SteppingClock(step: 1_000)

  private func key(_ number: Int) -> ByteString { ByteString("k\(number)") }

  private func fill() throws -> (reader: Store, other: Store) {
    let reader = try sandbox.open(Options(clock: clock))
    for number in 0..<200 {
      try reader.put(TestBody.make(1_000, seed: UInt64(number)), for: key(number))
    }
    return (reader, try sandbox.open(Options(clock: clock)))
  }

  @Test func `access times that could not be appended are appended later`() throws {
    let volume = SimulatedVolume()
    let process = SimulatedProcess(on: volume)
    func open(_ process: SimulatedProcess) throws -> Store {
      var options = Options(clock: clock, fileSystem: process)
      // No background thread appends them first.
      options.isSupervised = true
      return try Store(at: CrashScenario.path, options: options)
    }
    let store = try open(process)
    for number in 0..<3 { try store.put([UInt8(number)], for: key(number)) }
    for number in 0..<2 { #expect(store.lookUp(key(number)).entry != nil) }
    process.setFault(SimulatedFault(.fail(.inputOutput), at: 1) { $0.kind == .write })
    #expect(throws: StoreError.self) { try store.flush() }
    #expect(store.lookUp(key(2)).entry != nil)
    try store.flush()
    let accessed = try (0..<3).map { try #require(store.info(for: key($0))).accessed }
    // Killed, so that closing does not append them.
    process.setFault(SimulatedFault(.endAfter, at: 1) { _ in true })
    store.close()
    let again = try open(SimulatedProcess(on: volume))
    #expect(try (0..<3).map { try #require(again.info(for: key($0))).accessed } == accessed)
    again.close()
  }

  @Test func `a store that cannot append them any more lets others evict at once`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put([1], for: "a")
    store.waitUntilIdle()
    files.faults.setFull(true)
    #expect(store.lookUp("a").entry != nil)
    store.close()
    try expectNothingAnnounced()
    // Released only now.
    withExtendedLifetime(store) {}
  }

  @Test func `a body that is opened while the store is closed is not announced`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put(TestBody.make(20_000, seed: 1), for: "a")
    store.waitUntilIdle()
    files.faults.set { call in
      if call.kind == .open, call.name.hasSuffix(".body") { store.close() }
      return nil
    }
    guard case .hit = store.read("a") else {
      Issue.record("a is a miss")
      return
    }
    files.faults.set(nil)
    try expectNothingAnnounced()
    // Released only now.
    withExtendedLifetime(store) {}
  }

  @Test func `without announcements one look is enough`() throws {
    let store = try sandbox.open()
    let files = FaultyFiles()
    let staging = try files.open(userPath: sandbox.inside("staging"), [.read, .directory])
    files.faults.set(nil)
    PendingTouches().waitForOthers(staging.raw, files, unlessWithin: 0) { true }
    #expect(files.faults.calls.filter { $0.kind == .lock }.count == 1)
    store.close()
  }

  @Test func `a store that cannot write its accesses releases the announcement, too`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put([1], for: "a")
    _ = store.lookUp("a")
    files.faults.set { $0.kind == .write ? SystemError(ENOSPC) : nil }
    store.relinquish()
    try expectNothingAnnounced()
    files.faults.set(nil)
    store.close()
  }

  /// Expects that no process has announced accesses.
  private func expectNothingAnnounced() throws {
    let others = RealFileSystem()
    let staging = try others.open(
      userPath: sandbox.inside("staging"), [.read, .directory])
    #expect(!PendingTouches().areElsewhere(staging.raw, others))
  }

  @Test func `the upkeep appends access times when it can again`() throws {
    let process = SimulatedProcess(on: SimulatedVolume())
    let store = try Store(at: CrashScenario.path, options: Options(fileSystem: process))
    try store.put([1], for: "a")
    store.waitUntilIdle()
    // First the fault: the upkeep may write as soon as the entry is read.
    process.setFault(SimulatedFault(.fail(.inputOutput), at: 1) { $0.kind == .write })
    #expect(store.lookUp("a").entry != nil)
    // While they are being appended, they are not there either.
    while process.struck == nil { usleep(10_000) }
    while store.catalog.state.withLock({ !$0.touched.isEmpty }) { usleep(10_000) }
    store.close()
  }

  @Test(arguments: [false, true])
  func `what another process has just read is not evicted`(isStreamed: Bool) throws {
    let (reader, other) = try fill()
    for number in 0..<100 {
      if !isStreamed {
        #expect(reader.lookUp(key(number)).entry != nil)
      } else if case .miss = reader.read(key(number)) {
        Issue.record("\(number) is a miss")
      }
    }
    try other.setLimits(Limits(entries: 120))
    for number in 0..<200 where number < 100 || number >= 180 {
      #expect(reader.info(for: key(number)) != nil, "\(number)")
    }
    #expect(reader.statistics.entries == 120)
  }

  @Test func `a put at the limit evicts nothing that another process has just read`() throws {
    let (reader, other) = try fill()
    try other.setLimits(Limits(entries: 200))
    for number in 0..<100 { #expect(reader.lookUp(key(number)).entry != nil) }
    for number in 200..<230 { try other.put([UInt8(number)], for: key(number)) }
    other.waitUntilIdle()
    for number in 0..<100 { #expect(reader.info(for: key(number)) != nil, "\(number)") }
    #expect(reader.info(for: key(100)) == nil)
  }

  @Test func `a process that reads all the time does not keep another from trimming`() throws {
    let (reader, other) = try fill()
    let task = Task.detached {
      while !Task.isCancelled {
        for number in 0..<100 { _ = reader.lookUp(ByteString("k\(number)")) }
      }
    }
    #expect(try other.trim(toBytes: 1) > 0)
    #expect(other.statistics.entries == 0)
    task.cancel()
  }

  @Test func `a read-only store keeps no accesses, which it never writes`() throws {
    let (writer, _) = try fill()
    var options = Options()
    options.isReadOnly = true
    let reader = try sandbox.open(options)
    #expect(reader.lookUp(key(1)).entry != nil)
    #expect(reader.catalog.state.withLock { $0.touched }.isEmpty)
    #expect(writer.lookUp(key(1)).entry != nil)
    #expect(writer.catalog.state.withLock { $0.touched }.count > 0)
  }
}
