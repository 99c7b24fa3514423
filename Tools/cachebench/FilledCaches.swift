/// The workloads that share one set of filled caches: fill, hit, hit-memory, miss, concurrent,
/// processes and replace, in this order.
final class FilledCaches {
  let bench: Bench
  let corpus: Corpus
  let count: Int
  let lanes: [Lane]
  /// The next entry that was never stored.
  private(set) var nextFresh: Int

  /// Makes the caches and fills them; reports it when `fill` was asked for.
  init(_ bench: Bench) throws(BenchmarkError) {
    self.bench = bench
    corpus = bench.corpus
    count = bench.configuration.entryCount
    nextFresh = count
    lanes = try bench.makeLanes(SystemName.allCases, corpus)
    try fill()
  }

  /// Hands out entries that were never stored.
  func takeFresh(_ number: Int) -> [EntryID] {
    defer { nextFresh += number }
    return (nextFresh..<(nextFresh + number)).map { EntryID(index: $0) }
  }

  /// Runs one workload on the filled caches.
  func run(_ workload: Workload) throws(BenchmarkError) {
    progress("\(workload.rawValue): \(workload.summary)")
    switch workload {
    case .hit: try measure(workload, .hit, on: corpus.shuffled(0..<count))
    case .hitMemory: try hitMemory()
    case .miss: try miss()
    case .concurrent: try measureThreads()
    case .processes: try measureProcesses()
    case .replace: try replace()
    default: break
    }
  }

  /// Closes and removes the caches.
  func discard() {
    bench.discard(lanes)
  }

  private func fill() throws(BenchmarkError) {
    let entries = (0..<count).map { EntryID(index: $0) }
    if bench.configuration.workloads.contains(.fill) {
      progress("fill: \(Workload.fill.summary)")
      try measure(.fill, .store, on: entries)
    } else {
      progress("filling \(grouped(count)) entries")
      for lane in lanes { lane.begin(entries) }
    }
    for lane in lanes { try lane.finishUnmeasured() }
    FileTree.writeBack()
  }

  private func measure(
    _ work: Workload, _ operation: Operation, on entries: [EntryID], lanes: [Lane]? = nil
  ) throws(BenchmarkError) {
    let lanes = lanes ?? self.lanes
    try runInTurns(operation, lanes, on: entries, of: corpus)
    bench.report.print(
      "\(work.rawValue): \(grouped(count)) entries of \(grouped(corpus.bodyBytes)) bytes, "
        + "seed \(corpus.seed)",
      bench.rows(work.rawValue, lanes, entries: count, body: corpus.bodyBytes),
      notes: bench.notes(lanes, asked: entries.count))
  }

  /// Looks up keys that were never stored, after all entries that any workload stores.
  private func miss() throws(BenchmarkError) {
    let start = 1_000_000_000
    try measure(.miss, .miss, on: corpus.shuffled(start..<(start + count)))
  }

  /// Replaces up to 20,000 entries, each once.
  private func replace() throws(BenchmarkError) {
    let entries = corpus.shuffled(0..<count).prefix(20_000)
    // URLCache crashes when a key that was stored twice is evicted, so it takes no part.
    try measure(
      .replace, .replace, on: entries.map { EntryID(index: $0.index, generation: 1) },
      lanes: lanes.filter { $0.name != .urlcache })
  }

  /// Reads what the memory tier holds, ten times over, beside URLCache without a disk.
  private func hitMemory() throws(BenchmarkError) {
    let capacity = count * (corpus.bodyBytes + 2048) + (64 << 20)
    var warm: [Lane] = []
    defer { for lane in warm { lane.system.close() } }
    for lane in lanes where lane.name == .store || lane.name == .urlcache {
      let system: any CacheUnderTest =
        lane.name == .store
        ? try openSystem(.store, lane.directory, corpus, StoreSettings(memoryBytes: capacity))
        : URLCacheSystem(path: nil, corpus: corpus)
      let entries = (0..<min(count, lane.name.entryLimit ?? count)).map { EntryID(index: $0) }
      if lane.name == .urlcache {
        try system.storeUnmeasured(entries[...])
      } else {
        var unused = Series()
        try system.run(.hit, on: entries[...], of: corpus, into: &unused)
      }
      warm.append(Lane(system, directory: lane.directory))
    }
    let order = (0..<10).flatMap { _ in corpus.shuffled(0..<count) }
    try measure(.hitMemory, .hit, on: order, lanes: warm)
  }
}
