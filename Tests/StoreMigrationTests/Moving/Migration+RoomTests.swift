import CacheFormat
import CacheStore
import Foundation
import SimulatedFiles
import StoreMigration
import Synchronization
import TestSupport
import Testing
import ToolTesting

/// A destination with a limit on bytes.
@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct MigrationRoomTests {
  private struct Row {
    var number: Int
    var bytes: Int
    var accessed: Int
  }

  private func source(_ name: String, _ rows: [Row], _ sandbox: SourceSandbox) throws -> String {
    let values = rows.map { row in
      "('https://h/\(row.number)', NULL, NULL, randomblob(\(row.bytes)), 1, \(row.accessed), NULL)"
    }
    return try sandbox.database(
      name,
      Manifest.table + "INSERT INTO manifest VALUES\(values.joined(separator: ","))")
  }

  private func move(
    _ source: String, _ store: String, _ sandbox: SourceSandbox
  ) throws -> (counts: MigrationCounts, held: [String]) {
    let migration = try Migration(from: source, to: store, options: sandbox.options)
    try migration.run { _ in }
    let store = try #require(migration.store)
    defer { store.close() }
    let limits = store.limits
    if limits.accounting == .allocated {
      #expect(store.statistics.allocatedBytes <= limits.bytes ?? .max)
    } else {
      #expect(store.statistics.logicalBytes <= limits.bytes ?? .max)
    }
    let held = store.entries().map { "\($0.key) \($0.digest) \($0.accessed) \($0.created)" }
    return (migration.counts, held.sorted())
  }

  @Test func `of two rows with one key only the newest takes room`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "m",
      Manifest.table
        + """
        INSERT INTO manifest VALUES
          ('https://Dup.test/x', NULL, NULL, randomblob(90000), 1, 1600000000, NULL),
          ('https://dup.test/x', NULL, NULL, randomblob(100), 2, 1600000000, NULL);
        """)
    let target = sandbox.path + "/store"
    let limits = Limits(bytes: 100_000, accounting: .logical)
    let before = try Store(at: target, options: Options(limits: limits))
    for number in 0..<5 {
      try before.put([UInt8](repeating: 1, count: 10_000), for: ByteString("own\(number)"))
    }
    before.close()
    let first = try move(path, target, sandbox)
    #expect(first.counts.evicted == 0 && first.counts.converted == 1)
    #expect(first.held.count == 6)
  }

  @Test(arguments: [Limits.Accounting.allocated, .logical], 0..<6)
  func `what was asked for last is moved, in whatever order, and a second run changes nothing`(
    accounting: Limits.Accounting, round: Int
  ) throws {
    let sandbox = try SourceSandbox()
    let seed = UInt64.random(in: .min ... .max)
    var random = SplitMix64(seed: seed)
    // Some large ones among many small; several were asked for at the same moment.
    var rows = (0..<120).map { number in
      Row(
        number: number,
        bytes: Int.random(in: 0..<8, using: &random) == 0
          ? Int.random(in: 100_000...300_000, using: &random)
          : Int.random(in: 1...9_000, using: &random),
        accessed: 1_600_000_000 + Int.random(in: 0..<60, using: &random))
    }
    if round % 3 == 0 { rows.sort { $0.accessed < $1.accessed } }
    if round % 3 == 1 { rows.sort { $0.accessed > $1.accessed } }
    let path = try source("m", rows, sandbox)
    let limits = Limits(bytes: 1_500_000, accounting: accounting)
    let target = sandbox.path + "/store"
    let before = try Store(at: target, options: Options(limits: limits))
    try before.put([UInt8](repeating: 1, count: 200_000), for: "own")
    before.close()
    let first = try move(path, target, sandbox)
    #expect(first.counts.evicted == 0)
    #expect(first.held.count == first.counts.converted + 1)
    #expect(first.counts.converted > 0 && first.counts.converted < rows.count, "seed \(seed)")
    // Nothing that was left behind was asked for after something that was moved.
    let moved = Set(first.held.compactMap { Int($0.split(separator: " ")[1].dropFirst(10)) })
    let oldest = rows.filter { moved.contains($0.number) }.map(\.accessed).min() ?? 0
    let newestLeft = rows.filter { !moved.contains($0.number) }.map(\.accessed).max() ?? 0
    #expect(newestLeft <= oldest, "seed \(seed)")
    let again = try move(path, target, sandbox)
    #expect(again.counts.converted == 0, "seed \(seed)")
    #expect(again.held == first.held, "seed \(seed)")
    let plan = try Migration(from: path, to: target, options: sandbox.dryRun)
    try plan.run { _ in }
    #expect(plan.counts.converted == 0)
  }

  @Test func `the plan says what the move does`() throws {
    let sandbox = try SourceSandbox()
    let rows = (0..<50).map { Row(number: $0, bytes: 40_000, accessed: 1_600_000_000 + $0) }
    let path = try source("m", rows, sandbox)
    let target = sandbox.path + "/store"
    try Store(at: target, options: Options(limits: Limits(bytes: 1 << 20, entries: 15))).close()
    let plan = try Migration(from: path, to: target, options: sandbox.dryRun)
    try plan.run { _ in }
    let moved = try move(path, target, sandbox)
    #expect(plan.counts == moved.counts)
    #expect(moved.counts.converted == 15)
    #expect(moved.held.contains { $0.hasPrefix("GET https://h/49 ") })
  }

  @Test func `a plan counts a limit on entries alone`() throws {
    let sandbox = try SourceSandbox()
    let rows = (0..<50).map { Row(number: $0, bytes: 10, accessed: 1_600_000_000 + $0 * 7 % 50) }
    let path = try source("m", rows, sandbox)
    let target = sandbox.path + "/store"
    let before = try Store(at: target, options: Options(limits: Limits(entries: 15)))
    // It is asked for later than all rows, and stays.
    try before.put([1], for: "own")
    before.close()
    for round in 0..<2 {
      let plan = try Migration(from: path, to: target, options: sandbox.dryRun)
      try plan.run { _ in }
      #expect(plan.counts.converted == (round == 0 ? 14 : 0))
      let moved = try move(path, target, sandbox)
      #expect(moved.held.count == 15)
    }
  }

  @Test func `a newer response takes the place of an older one where it has room`() throws {
    let sandbox = try SourceSandbox()
    let target = sandbox.path + "/store"
    try Store(at: target, options: Options(limits: Limits(bytes: 1 << 20))).close()
    let old = (0..<40).map { Row(number: $0, bytes: 10_000, accessed: 1_600_000_000 + $0) }
    let first = try move(try source("old", old, sandbox), target, sandbox)
    #expect(first.counts.converted == 40)
    let path = try sandbox.database(
      "new",
      Manifest.table
        + """
        INSERT INTO manifest VALUES('https://h/7', NULL, NULL, randomblob(900000), 5, 6, NULL),
          ('https://h/8', NULL, NULL, randomblob(9000), 5, 1600000100, NULL)
        """)
    for round in 0..<2 {
      let (counts, held) = try move(path, target, sandbox)
      #expect(counts.converted == (round == 0 ? 1 : 0))
      #expect(held.count == 40)
    }
  }

  @Test func `a plan counts a longer entry that is replaced`() throws {
    let sandbox = try SourceSandbox()
    let target = sandbox.path + "/store"
    try Store(at: target, options: Options(limits: Limits(entries: 15))).close()
    let old = try source("old", [Row(number: 7, bytes: 10_000, accessed: 1)], sandbox)
    #expect(try move(old, target, sandbox).counts.converted == 1)
    let new = try sandbox.database(
      "new",
      Manifest.table
        + "INSERT INTO manifest VALUES('https://h/7', NULL, NULL, randomblob(10), 5, 6, NULL)")
    let plan = try Migration(from: new, to: target, options: sandbox.dryRun)
    try plan.run { _ in }
    #expect(plan.counts.replaced == 1)
  }

  @Test func `a newer response that is stored while a long body is read stays`() throws {
    let sandbox = try SourceSandbox()
    let target = sandbox.path + "/store"
    try Store(at: target).close()
    func database(_ name: String, _ bytes: Int, _ time: Int) throws -> String {
      try sandbox.database(
        name,
        Manifest.table + "INSERT INTO manifest VALUES('https://h/1', NULL, NULL, "
          + "randomblob(\(bytes)), \(time), \(time), NULL)")
    }
    let old = try database("old", 3_000_000, 1_600_000_000)
    let new = try database("new", 100, 1_700_000_000)
    let files = FaultyFiles()
    let isMoved = Atomic(false)
    let plain = sandbox.options
    var options = plain
    options.fileSystem = files
    // On another thread, as another program would.
    files.faults.set { call in
      guard call.kind == .write, !isMoved.exchange(true, ordering: .relaxed) else { return nil }
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        let other = try? Migration(from: new, to: target, options: plain)
        try? other?.run { _ in }
        other?.store?.close()
        #expect(other?.counts.converted == 1)
        done.signal()
      }
      done.wait()
      return nil
    }
    let migration = try Migration(from: old, to: target, options: options)
    try migration.run { _ in }
    migration.store?.close()
    #expect(isMoved.load(ordering: .relaxed) && migration.counts.converted == 0)
    let store = try Store(at: target)
    #expect(store.entries().map(\.length) == [100])
    store.close()
  }

  /// Makes a Cache.db whose responses have a field of 12,000 bytes.
  private func longFields(_ name: String, rows: Int, _ sandbox: SourceSandbox) throws -> String {
    try sandbox.makeCacheDB(
      name,
      """
      for n in range(1, \(rows) + 1):
          add(n, 'https://h/%d' % n, {'X': 12000 * 'v'}, b'body %d' % n)
      """)
  }

  @Test func `long metadata take room, and what the store has stays`() throws {
    let sandbox = try SourceSandbox()
    let target = sandbox.path + "/store"
    let limits = Limits(bytes: 3 << 20)
    let before = try Store(at: target, options: Options(limits: limits))
    for number in 0..<20 {
      try before.put(
        [1], for: ByteString("own\(number)"), variant: 0, metadata: EntryMetadata(),
        past: ImportedTimes(created: nil, accessed: Timestamp(nanoseconds: 1)))
    }
    before.close()
    let path = try longFields("m", rows: 150, sandbox)
    let plan = try Migration(from: path, to: target, options: sandbox.dryRun)
    try plan.run { _ in }
    let moved = try move(path, target, sandbox)
    #expect(moved.counts.evicted == 0 && moved.counts.converted > 50)
    #expect(moved.counts.converted < 150 && plan.counts == moved.counts)
    #expect(moved.held.count { $0.hasPrefix("own") } == 20)
  }

  @Test(arguments: [5 << 20, 8 << 20, 10 << 20, 12 << 20] as [UInt64])
  func `what the store has stays, also where a log counts for the limit`(limit: UInt64) throws {
    let sandbox = try SourceSandbox()
    let target = sandbox.path + "/store"
    let before = try Store(at: target, options: Options(limits: Limits(bytes: limit)))
    for number in 0..<60 {
      try before.put(
        [UInt8](repeating: UInt8(number), count: 9_000), for: ByteString("own\(number)"),
        variant: 0, metadata: EntryMetadata(),
        past: ImportedTimes(created: nil, accessed: Timestamp(nanoseconds: 1)))
    }
    before.close()
    let rows = (0..<Int(limit >> 13)).map {
      Row(number: $0, bytes: [900, 5_000, 9_000][$0 % 3], accessed: 1_600_000_000 + $0)
    }
    let path = try source("m", rows, sandbox)
    for _ in 0..<2 {
      let moved = try move(path, target, sandbox)
      #expect(moved.counts.evicted == 0)
      #expect(moved.held.count { $0.hasPrefix("own") } == 60)
      #expect(moved.held.count > rows.count / 4 && moved.held.count < rows.count)
    }
  }

  @Test func `the bytes that are needed on disk include long metadata`() throws {
    let sandbox = try SourceSandbox()
    let path = try longFields("m", rows: 60, sandbox)
    let target = sandbox.path + "/store"
    let plan = try Migration(from: path, to: target, options: sandbox.dryRun)
    try plan.run { _ in }
    let moved = try move(path, target, sandbox)
    #expect(plan.counts == moved.counts && moved.counts.converted == 60)
    let (status, text) = try Child.run("/usr/bin/env", ["du", "-sk", target])
    let taken = text.split { $0 == "\t" || $0 == " " }.first.flatMap { UInt64($0) }
    #expect(try status == 0 && #require(taken) << 10 <= plan.counts.neededBytes)
  }

  @Test func `an entry that is too large for the store keeps none behind`() throws {
    let sandbox = try SourceSandbox()
    let target = sandbox.path + "/store"
    try Store(at: target, options: Options(limits: Limits(bytes: 1 << 20))).close()
    let rows = [
      Row(number: 1, bytes: 5_000_000, accessed: 1_700_000_000),
      Row(number: 2, bytes: 1_040_000, accessed: 1_700_000_001),
      Row(number: 3, bytes: 100, accessed: 1_600_000_000),
    ]
    let path = try source("m", rows, sandbox)
    let plan = try Migration(from: path, to: target, options: sandbox.dryRun)
    try plan.run { _ in }
    let moved = try move(path, target, sandbox)
    #expect(moved.counts.converted == 1)
    #expect(
      moved.counts.skipped.map { "\($0.key.name) \($0.value)" }.sorted() == [
        "entry_too_large 1", "limits_reached 1",
      ])
    #expect(plan.counts == moved.counts)
  }
}
