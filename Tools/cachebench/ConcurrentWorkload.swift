import TestSupport

/// How many operations one thread runs in a slice.
private func sliceLength(_ name: SystemName, _ operation: Operation) -> Int {
  switch name {
  case .store, .floor, .log, .dictionary: operation == .hit ? 5_000 : 1_000
  case .sqliteTuned: 1_000
  case .sqlite: 50
  case .urlcache: 5
  }
}

/// How many slices are measured for each number of threads.
private let rounds = 12

extension FilledCaches {
  /// Hits and stores from several threads.
  func measureThreads() throws(BenchmarkError) {
    let shared = lanes.filter { ![.log, .dictionary].contains($0.name) }
    for (operation, work) in [(Operation.hit, "concurrent-hit"), (.store, "concurrent-store")] {
      var rows: [Row] = []
      for threads in bench.configuration.threads {
        rows += try measure(operation, work, threads, shared)
      }
      add(rows)
    }
  }

  private func measure(
    _ operation: Operation, _ work: String, _ threads: Int, _ lanes: [Lane]
  ) throws(BenchmarkError) -> [Row] {
    var contenders: [(lane: Lane, team: ThreadTeam, series: Series)] = []
    defer { for contender in contenders { contender.team.end() } }
    for lane in lanes { contenders.append((lane, try ThreadTeam(threads, lane, corpus), Series())) }
    for round in 0..<rounds {
      for turn in contenders.indices {
        let chosen = (turn + round) % contenders.count
        let name = contenders[chosen].lane.name
        let length = sliceLength(name, operation)
        let slices = (0..<threads).map { thread in
          entries(operation, length, name, salt: round * 64 + thread)[...]
        }
        if name.waitsForDisk { FileTree.writeBack() }
        let result = try contenders[chosen].team.run(operation, on: slices)
        contenders[chosen].series.add(slice: result.operations, wall: result.wall)
      }
    }
    return contenders.compactMap { contender in
      contender.series.summary().map { summary in
        Row(
          work: work, system: contender.lane.name,
          entries: min(count, contender.lane.name.entryLimit ?? count), body: corpus.bodyBytes,
          threads: threads, summary: summary)
      }
    }
  }

  private func entries(
    _ operation: Operation, _ length: Int, _ name: SystemName, salt: Int
  ) -> [EntryID] {
    if operation == .store { return takeFresh(length) }
    var generator = SplitMix64(seed: corpus.seed &+ UInt64(salt) &* 7919)
    let bound = min(count, name.entryLimit ?? count)
    return (0..<length).map { _ in EntryID(index: Int.random(in: 0..<bound, using: &generator)) }
  }
}

/// Threads of this process, each with a handle of its own.
struct ThreadTeam {
  private let handles: [any CacheUnderTest]
  private let corpus: Corpus

  /// Opens the handles.
  init(_ count: Int, _ lane: Lane, _ corpus: Corpus) throws(BenchmarkError) {
    var handles: [any CacheUnderTest] = []
    for _ in 0..<count { handles.append(try lane.system.sibling()) }
    self.handles = handles
    self.corpus = corpus
  }

  /// Runs one slice per thread, all at once.
  func run(
    _ operation: Operation, on slices: [ArraySlice<EntryID>]
  ) throws(BenchmarkError) -> SharedSlice {
    try runSideBySide(operation, handles, on: slices, of: corpus)
  }

  /// Closes the handles.
  func end() {
    for handle in handles { handle.close() }
  }
}
