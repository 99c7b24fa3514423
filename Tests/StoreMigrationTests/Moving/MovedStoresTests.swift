import CacheFormat
import CacheStore
import Foundation
import HTTPSemantics
import StoreMigration
import Testing
import ToolTesting

/// Every store that the generators make, moved into a store, and looked up there.
@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct MovedStoresTests {
  @Test(arguments: SourceFormat.allCases)
  func `every row is found as the generator expects, and a second time nothing changes`(
    format: SourceFormat
  ) throws {
    let seed = Int.random(in: 1...1_000_000_000)
    print("moves \(format) with seed \(seed)")
    let sandbox = try SourceSandbox()
    let stores = sandbox.path + "/stores"
    try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: false)
    try SourceGenerators.run(format, to: stores, seed: seed, rows: 40)
    let before = try FolderState(stores)
    var moved: [(String, ExpectedStore)] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: stores).sorted() {
      let expected = try ExpectedStore(folder: "\(stores)/\(name)")
      let source = "\(stores)/\(name)/\(expected.store)"
      let target = "\(sandbox.path)/moved-\(name)"
      guard expected.opens else {
        #expect(throws: MigrationError.self, "\(name)") {
          _ = try Migration(from: source, to: target, options: sandbox.options)
        }
        #expect(!FileManager.default.fileExists(atPath: target), "\(name)")
        continue
      }
      let differences = try move(name, expected, source, target, sandbox)
      #expect(differences == [], "seed \(seed), \(name)")
      moved.append((name, expected))
    }
    let digests = try ReadStore.digests(in: sandbox)
    #expect(!digests.isEmpty)
    for (name, expected) in moved {
      for (row, values) in expected.entries {
        guard let found = digests["\(name)-\(row)"] else { continue }
        #expect(String(found) == values["body_sha256"] as? String, "seed \(seed), \(name), \(row)")
      }
    }
    #expect(try FolderState(stores) == before, "seed \(seed)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.copies) == [])
  }

  private func move(
    _ name: String, _ expected: ExpectedStore, _ source: String, _ target: String,
    _ sandbox: SourceSandbox
  ) throws -> [String] {
    var requests: [Int64: HTTPFields] = [:]
    let cache = try SourceCache(path: source, temporaryFolder: sandbox.copies)
    while let row = try cache.nextRow() {
      if case .entry(let entry) = row.outcome { requests[row.row] = entry.requestFields }
    }
    let planned = try Migration(from: source, to: target, options: sandbox.dryRun)
    try planned.run { _ in }
    #expect(planned.counts.rows == Int(cache.rowCount))
    #expect(!FileManager.default.fileExists(atPath: target), "\(name)")

    let migration = try Migration(from: source, to: target, options: sandbox.options)
    var results: [Int64: RowResult] = [:]
    try migration.run { results[$0.row] = $0 }
    let store = try #require(migration.store)
    let held = store.statistics.entries
    #expect(migration.counts.converted - migration.counts.replaced == held, "\(name)")
    #expect(planned.counts.faults == migration.counts.faults, "\(name)")

    let again = try Migration(from: source, to: target, options: sandbox.options)
    let infos = { (store: Store) in
      store.entries().map { "\($0.metadata) \($0.created) \($0.digest)" }.sorted()
    }
    let first = infos(store)
    try again.run { _ in }
    #expect(again.counts.converted == 0, "\(name)")
    #expect(infos(store) == first, "\(name)")
    again.store?.close()

    var comparison = MovedComparison(store)
    try comparison.compare(expected, results, requests) { row, body in
      try Data(body).write(to: URL(filePath: "\(sandbox.bodies)/\(name)-\(row)"))
    }
    store.close()
    return comparison.differences
  }

  @Test(arguments: [0, 1, 28])
  func `the bytes that are needed include the files of the store`(count: Int) throws {
    let sandbox = try SourceSandbox()
    let rows = (0..<count).map {
      "INSERT INTO manifest VALUES('https://h/\($0)', NULL, NULL, randomblob(3000), 1, 1, NULL);"
    }
    let source = try sandbox.database("m", Manifest.table + rows.joined())
    let target = sandbox.path + "/store"
    let migration = try Migration(from: source, to: target, options: sandbox.options)
    try migration.run { _ in }
    migration.store?.close()
    #expect(migration.counts.converted == count)
    let (status, text) = try Child.run("/usr/bin/env", ["du", "-sk", target])
    let taken = try #require(text.split(separator: "\t").first.flatMap { UInt64($0) }) << 10
    let needed = migration.counts.neededBytes
    #expect(status == 0 && (count == 0 ? needed == 0 : taken <= needed))
  }

  @Test func `the order of eviction is that of the source`() throws {
    let sandbox = try SourceSandbox()
    // Row numbers, times and keys go three ways.
    let rows = (0..<60).map { number in
      let time = 1_600_000_000 + number * 37 % 60
      return "('https://h/\(time)', NULL, NULL, x'\(number + 10)', 1500000000, \(time), NULL)"
    }
    let source = try sandbox.database(
      "m",
      Manifest.table + "INSERT INTO manifest VALUES\(rows.joined(separator: ","))")
    let migration = try Migration(
      from: source, to: sandbox.path + "/store", options: sandbox.options)
    let store = try #require(migration.store)
    try store.put([1], for: "new")
    try migration.run { _ in }
    for _ in 0..<5 {
      #expect(try store.trim(toBytes: store.statistics.allocatedBytes * 3 / 4) > 3)
      let held = store.entries().map(\.key.description).sorted()
      let newest = (0..<(held.count - 1)).map { "GET https://h/\(1_600_000_059 - $0)" }
      #expect(held == (newest + ["new"]).sorted())
    }
  }

  @Test func `a store at its limits keeps what was asked for last`() throws {
    let sandbox = try SourceSandbox()
    let rows = (0..<60).map { number in
      "('https://h/\(number)', NULL, NULL, x'\(number + 10)', 1, \(1_600_000_000 + number), NULL)"
    }
    let source = try sandbox.database(
      "m",
      Manifest.table
        + "INSERT INTO manifest VALUES\(rows.reversed().joined(separator: ","))")
    let target = sandbox.path + "/store"
    let before = try Store(at: target, options: Options(limits: Limits(entries: 20)))
    for number in 0..<10 { try before.put([UInt8(number)], for: ByteString("own\(number)")) }
    before.close()
    let migration = try Migration(from: source, to: target, options: sandbox.options)
    try migration.run { _ in }
    let store = try #require(migration.store)
    let held = Set(store.entries().map(\.key.description))
    #expect((0..<10).allSatisfy { held.contains("own\($0)") })
    #expect((50..<60).allSatisfy { held.contains("GET https://h/\($0)") })
    let reason = try #require(RowReason(named: "limits_reached"))
    #expect(migration.counts.skipped == [reason: 50])
    #expect(migration.counts.faults == 0)
  }
}
