import CacheStore

/// One set of filled caches, and the workloads that share it: fill, hit, hit-memory, miss,
/// concurrent and replace.
///
/// SQLite with default settings and URLCache have a set of their own that runs after the other
/// one: both are slow, and every commit of the former removes a file, after which ext4 takes
/// longer to make files for minutes (see Docs/Benchmarks.md).
final class FilledCaches {
  let bench: Bench
  let corpus: Corpus
  let count: Int
  let lanes: [Lane]
  /// What was measured so far, and what has to be said about it.
  var rows: [Row] = []
  private(set) var notes: [String] = []
  private var nextFresh: Int

  /// Makes the caches and fills them, measured when `fill` was asked for.
  init(_ bench: Bench, _ names: [SystemName]) throws {
    self.bench = bench
    corpus = bench.corpus
    count = bench.configuration.entryCount
    nextFresh = count
    lanes = try bench.makeLanes(names, corpus)
    try fill()
  }

  func takeFresh(_ number: Int) -> [EntryID] {
    defer { nextFresh += number }
    return (nextFresh..<(nextFresh + number)).map { EntryID(index: $0) }
  }

  func run(_ workload: Workload) throws {
    guard !lanes.isEmpty else { return }
    progress("\(workload.rawValue): \(workload.summary)")
    switch workload {
    case .hit: try hit(.hit)
    case .hitSettled:
      for lane in lanes { try (lane.system as? StoreSystem)?.leaveLog() }
      try hit(.hitSettled)
    case .hitMemory: try hitMemory()
    case .miss: try miss()
    case .concurrent: try measureThreads()
    case .replace: try replace()
    default: break
    }
  }

  private func fill() throws {
    let entries = (0..<count).map { EntryID(index: $0) }
    progress("fill: \(grouped(count)) entries: \(lanes.map(\.name.rawValue))")
    // Those that take no part are filled afterwards.
    for lane in lanes { lane.begin(entries) }
    if bench.configuration.workloads.contains(.fill) {
      for lane in lanes { lane.writesFiles = true }
      try measure(.fill, .store, on: entries)
      for lane in lanes {
        lane.writesFiles = false
        lane.addFilesTime()
      }
      rows += bench.rows("fill-settled", lanes, entries: count, body: corpus.bodyBytes)
    }
    for lane in lanes { try lane.finishUnmeasured() }
    FileTree.writeBack()
  }

  private func measure(
    _ work: Workload, _ operation: Operation, on entries: [EntryID], lanes: [Lane]? = nil
  ) throws {
    let lanes = (lanes ?? self.lanes).filter { $0.name.takesPart(in: work) }
    try runInTurns(operation, lanes, on: entries, of: corpus)
    rows += bench.rows(work.rawValue, lanes, entries: count, body: corpus.bodyBytes)
    for note in bench.notes(lanes, asked: entries.count) {
      notes.append("\(work.rawValue): \(note)")
    }
  }

  /// Reads every entry once before it measures: what is compared is the way to the system's cache.
  private func hit(_ work: Workload) throws {
    for lane in lanes where lane.name.secondsAllowed == nil {
      var unused = Series()
      let entries = (0..<count).map { EntryID(index: $0) }
      try lane.system.run(.hit, on: entries[...], of: corpus, into: &unused)
    }
    try measure(work, .hit, on: corpus.shuffled(0..<count))
  }

  /// Looks up keys that were never stored, far from all that any workload stores.
  private func miss() throws {
    let start = 1_000_000_000
    try measure(.miss, .miss, on: corpus.shuffled(start..<(start + count)))
  }

  /// Replaces up to 20,000 settled entries, each once.
  private func replace() throws {
    for lane in lanes { try (lane.system as? StoreSystem)?.writeFiles() }
    let entries = corpus.shuffled(0..<count).prefix(20_000)
    // URLCache crashes when a key that was stored twice is evicted, so it takes no part.
    try measure(
      .replace, .replace, on: entries.map { EntryID(index: $0.index, generation: 1) },
      lanes: lanes.filter { $0.name != .urlcache })
  }

  /// Reads what the memory tier holds, ten times over, beside a dictionary.
  private func hitMemory() throws {
    let capacity = count * (corpus.bodyBytes + 2048) + (64 << 20)
    let options = Options(
      settling: bench.configuration.settling, memoryBytes: capacity, lag: bench.configuration.lag)
    var warm: [Lane] = []
    defer { for lane in warm { lane.system.close() } }
    for lane in lanes where [.store, .dictionary].contains(lane.name) {
      let system = try openSystem(lane.name, lane.directory, corpus, options)
      let entries = (0..<count).map { EntryID(index: $0) }
      if lane.name != .store {
        try system.storeUnmeasured(entries[...])
      } else {
        var unused = Series()
        try system.run(.hit, on: entries[...], of: corpus, into: &unused)
      }
      warm.append(Lane(system, directory: lane.directory))
    }
    let hot = min(count, 10_000)
    let order = (0..<20).flatMap { _ in corpus.shuffled(0..<hot) }
    try measure(.hitMemory, .memoryHit, on: order, lanes: warm)
  }
}
