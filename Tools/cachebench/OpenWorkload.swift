import CacheFormat
import CacheStore

extension Bench {
  /// Opens a clean store in fresh processes: how long it takes, and what an entry costs in memory.
  func open() throws {
    guard configuration.systems.contains(.store) else { return }
    var rows: [Row] = []
    for count in configuration.entries ?? [1_000_000] {
      let body = configuration.body ?? 100
      let corpus = Corpus(seed: configuration.seed, bodyBytes: body)
      let lanes = try makeLanes([.store], corpus)
      guard let lane = lanes.first else { return }
      progress("filling \(grouped(count)) entries of \(body) bytes")
      lane.begin((0..<count).map { EntryID(index: $0) })
      try lane.finishUnmeasured()
      lane.system.close()
      FileTree.writeBack()
      rows += try openRow(lane.directory, count, body).map { [$0] } ?? []
    }
    report.print(
      "open: a store that was closed, in a new process, three times", rows,
      notes: rows.map { row in
        "\(grouped(row.entries)) entries: \(fixed(row.seconds ?? 0, 3)) s, "
          + "\(fixed(row.bytesPerEntry ?? 0, 0)) bytes of memory an entry"
      })
  }

  private func openRow(_ directory: String, _ count: Int, _ body: Int) throws -> Row? {
    var series = Series()
    var bytes: [Double] = []
    for _ in 0..<3 {
      let numbers = try runChild(.open, [directory, String(count)], numbers: 2)
      series.add(slice: [numbers[0]], wall: numbers[0])
      bytes.append(Double(numbers[1]) / Double(count))
    }
    return series.summary().map { summary in
      Row(
        work: "open", system: .store, entries: count, body: body, summary: summary,
        bytesPerEntry: median(bytes), seconds: summary.median / 1e9)
    }
  }
}

/// Opens the store in a folder, and prints nanoseconds and bytes of resident memory.
func runOpen(_ arguments: [String]) throws {
  guard arguments.count == 2, let count = Int(arguments[1]) else {
    throw BenchmarkError("cachebench: this process needs a folder and a number of entries")
  }
  let before = Memory.residentBytes()
  let start = MonotonicClock.now()
  let system = try StoreSystem(path: arguments[0], corpus: Corpus(seed: 1, bodyBytes: 0))
  let spent = MonotonicClock.now() - start
  let after = Memory.residentBytes()
  // A store that opened fast because it has not read its index would not be open.
  guard system.store.statistics.entries == count else {
    throw BenchmarkError("store: opened \(system.store.statistics.entries) of \(count) entries")
  }
  emit("\(spent) \(max(0, after - before))\n")
  system.close()
}
