import CLibrary
import CacheFormat
import CacheSystem
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

/// The end of a journal that a loss of power has damaged, or half a record, which the system refuses to
/// cut off: at a quota, some file systems refuse each call that changes something.
@Suite struct RefusedCutTests {
  private let body = TestBody.make(4_000, seed: 1)

  private func open(
    _ process: SimulatedProcess, boot: UInt8, durability: Durability = .full,
    comparing: Bool = true, segmentBytes: Int64 = 1 << 20
  ) throws -> Store {
    var options = Options(
      durability: durability, settling: .within(seconds: 3_600), fileSystem: process)
    options.bootName = [boot]
    options.isSupervised = !comparing
    options.journal = JournalSizes(segmentBytes: segmentBytes)
    return try Store(at: CrashScenario.path, options: options)
  }

  private func key(_ number: Int) -> ByteString { ByteString("\(number)") }

  /// Returns what a loss of power leaves of a store with 4 entries in the log that were promised, and 16
  /// more that were not, in one segment or in two.
  private func volume(seed: UInt64, segments: Int = 1) throws -> SimulatedVolume {
    let volume = SimulatedVolume()
    let processes = [SimulatedProcess(on: volume), SimulatedProcess(on: volume)]
    let promised = try open(processes[0], boot: 1)
    for number in 0..<4 { try promised.put([1], for: key(number)) }
    // So a segment is begun before the one before is synced. A kill in between leaves the same.
    try processes[0].removeFile(Layout.durable, in: promised.catalog.place.journal.raw)
    let others = try open(
      processes[1], boot: 1, durability: .process,
      segmentBytes: segments == 1 ? 1 << 20 : 32 << 10)
    for number in 4..<20 {
      try others.put(body, for: key(number))
      let last = try #require(others.catalog.state.withLock { $0.journal.current })
      if last.number > 1 {
        try processes[1].synchronize(last.file, names: true)
        try processes[1].synchronize(others.catalog.place.journal, names: true)
      }
    }
    #expect(others.catalog.state.withLock { $0.journal.segments.count } == segments)
    for process in processes { process.end() }
    return volume.afterPowerLoss(.posix, seed: seed)
  }

  /// Gives the segments second names, as `cp -al` makes them.
  private func linkSegments(of volume: SimulatedVolume) throws {
    let files = SimulatedProcess(on: volume)
    let journal = try files.open(
      userPath: CrashScenario.path + "/journal", [.read, .directory])
    var names: [PathName] = []
    try files.list(journal.raw) { name, _ in
      if name.text.hasSuffix(".log") { names.append(name) }
      return true
    }
    for name in names {
      var copy = PathName("copy-")
      copy.append(name)
      try files.link(name, in: journal.raw, to: copy, in: journal.raw)
    }
  }

  private func hasPromised(_ store: Store) -> Bool {
    (0..<4).allSatisfy { store.lookUp(key($0)).entry?.body == [1] }
  }

  @Test(
    arguments: [
      [SimulatedOperation.Kind.truncate], [.removeFile], [.truncate, .removeFile, .makeDirectory],
    ], [false, true])
  func `two programs at a quota see the same of a damaged journal`(
    refused: [SimulatedOperation.Kind], isLinked: Bool
  ) throws {
    let refusals = Atomic<Int>(0)
    for seed in 0..<48 as Range<UInt64> {
      let left = try volume(seed: seed, segments: refused.contains(.removeFile) ? 2 : 1)
      if isLinked { try linkSegments(of: left) }
      let processes = [SimulatedProcess(on: left), SimulatedProcess(on: left)]
      for process in processes {
        process.setFault(
          SimulatedFault(.fail(SystemError(EDQUOT)), at: 1, lasts: true) { call in
            let isRefused =
              refused.contains(call.kind)
              && (call.kind == .makeDirectory
                ? call.name.split(separator: "/").last?.count == 16 : call.name.hasSuffix(".log"))
            if isRefused { refusals.add(1, ordering: .relaxed) }
            return isRefused
          })
      }
      let one = try open(processes[0], boot: 2)
      // This needs a session before it needs the journal.
      _ = try? one.put(TestBody.make(40_000, seed: seed), for: "long")
      one.waitUntilIdle()
      let two = try open(processes[1], boot: 2)
      two.waitUntilIdle()
      #expect(hasPromised(one) && hasPromised(two), "seed \(seed)")
      for process in processes { process.setFault(nil) }
      try one.put([2], for: "new")
      // A segment that follows one with a second name is looked for now and then.
      if isLinked { for _ in 0..<64 { _ = two.lookUp("other") } }
      #expect(two.lookUp("new").entry?.body == [2], "seed \(seed)")
      try two.put([3], for: "new")
      #expect(one.lookUp("new").entry?.body == [3], "seed \(seed)")
      one.close()
      two.close()
      let last = try open(SimulatedProcess(on: left), boot: 2)
      last.waitUntilIdle()
      #expect(hasPromised(last) && last.lookUp("new").entry?.body == [3], "seed \(seed)")
      #expect(last.catalog.isIndexWhole)
      last.close()
    }
    #expect(refusals.load(ordering: .relaxed) > 0)
  }

  @Test func `what another program writes in place of a refused cut is read`() throws {
    var count = 0
    for seed in 0..<16 as Range<UInt64> {
      let left = try volume(seed: seed)
      let process = SimulatedProcess(on: left)
      process.setFault(
        SimulatedFault(.fail(SystemError(EDQUOT)), at: 1, lasts: true) { $0.kind == .truncate })
      let one = try open(process, boot: 2, comparing: false)
      let cut = one.catalog.state.withLock { state in
        state.journal.refusedCut.map { ($0.end, state.journal.position + state.journal.tornBytes) }
      }
      guard let (end, length) = cut else { continue }
      let two = try open(SimulatedProcess(on: left), boot: 2, comparing: false)
      func written() -> Int64 { two.catalog.state.withLock { $0.journal.position } }
      func put(_ key: ByteString, tagBytes: Int) throws {
        let tag = ByteString(bytes: [UInt8](repeating: 65, count: tagBytes))
        try two.put([0], for: key, metadata: EntryMetadata(tags: [tag]))
      }
      try put("new", tagBytes: 8)
      let record = written() - end
      // The second record ends where the file ended.
      let more = Int(length - written() - record)
      guard more >= 0, more.isMultiple(of: 8) else { continue }
      count += 1
      try put("own", tagBytes: 8 + more)
      #expect(written() == length)
      #expect(one.lookUp("new").entry?.body == [0], "seed \(seed)")
      process.setFault(nil)
      try one.put([1], for: "last")
      #expect(two.lookUp("new").entry?.body == [0], "seed \(seed)")
      one.close()
      two.close()
    }
    #expect(count > 0)
  }
}
