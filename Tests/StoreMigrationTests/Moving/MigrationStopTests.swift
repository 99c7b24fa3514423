import CacheStore
import SimulatedFiles
import StoreMigration
import Testing

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct MigrationStopTests {
  private func source(_ sandbox: SourceSandbox) throws -> String {
    try sandbox.database(
      "m", Manifest.table + (1...5).map { Manifest.row("https://h/\($0)") }.joined())
  }

  @Test func `rows that were reported are stored, and it goes on behind them`() throws {
    let sandbox = try SourceSandbox()
    let (source, target) = (try source(sandbox), sandbox.path + "/store")
    let stop = MigrationStop()
    let first = try Migration(from: source, to: target, options: sandbox.options, stop: stop)
    var reported: [Int64] = []
    #expect(throws: MigrationError.cancelled) {
      try first.run { row in
        reported.append(row.row)
        if row.row == 2 { stop.request() }
      }
    }
    #expect(reported == [1, 2] && first.counts.converted == 2)
    #expect(first.store?.statistics.entries == 2)
    // It stays stopped.
    #expect(throws: MigrationError.cancelled) { try first.run(after: 2) { _ in } }
    first.store?.close()
    let second = try Migration(from: source, to: target, options: sandbox.options)
    try second.run(after: reported.last) { reported.append($0.row) }
    #expect(reported == [1, 2, 3, 4, 5] && second.store?.statistics.entries == 5)
  }

  @Test func `a request before the first row, also while room is planned, moves nothing`() throws {
    let sandbox = try SourceSandbox()
    let (source, target) = (try source(sandbox), sandbox.path + "/store")
    try Store(at: target, options: Options(limits: Limits(bytes: 1 << 20))).close()
    let stop = MigrationStop()
    let migration = try Migration(from: source, to: target, options: sandbox.options, stop: stop)
    stop.request()
    #expect(throws: MigrationError.cancelled) {
      try migration.run { Issue.record("row \($0.row) was moved") }
    }
    #expect(migration.store?.statistics.entries == 0)
  }

  @Test func `a request in the middle of a long body ends it, and nothing of it stays`() throws {
    let sandbox = try SourceSandbox()
    let source = try sandbox.database(
      "m", Manifest.table + Manifest.row("https://h/long", "zeroblob(20000000)"))
    let (files, stop) = (FaultyFiles(), MigrationStop())
    var options = sandbox.options
    options.fileSystem = files
    let migration = try Migration(
      from: source, to: sandbox.path + "/store", options: options, stop: stop)
    files.faults.set { call in
      if call.kind == .write { stop.request() }
      return nil
    }
    #expect(throws: MigrationError.cancelled) { try migration.run { _ in } }
    #expect(files.faults.calls.count { $0.kind == .write } < 10)
    let store = try #require(migration.store)
    #expect(store.statistics.entries == 0)
    store.close()
    #expect(try Store(at: sandbox.path + "/store").statistics.logicalBytes == 0)
  }
}
