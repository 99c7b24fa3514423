/// How many operations one thread or process runs in a slice.
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
        rows += try measure(operation, work, threads, shared) { lane throws(BenchmarkError) in
          try ThreadTeam(threads, lane, corpus)
        }
      }
      add(rows)
    }
  }

  /// Hits and stores from several processes on one cache.
  func measureProcesses() throws(BenchmarkError) {
    // The disk cache of a URLCache belongs to one process.
    let shared = lanes.filter { ![.urlcache, .log, .dictionary].contains($0.name) }
    for (operation, work) in [(Operation.hit, "processes-hit"), (.store, "processes-store")] {
      var rows: [Row] = []
      for processes in bench.configuration.threads {
        rows += try measure(operation, work, processes, shared) { lane throws(BenchmarkError) in
          try ProcessTeam(
            processes, lane.name, lane.directory, operation, corpus)
        }
      }
      add(rows)
    }
  }

  private func measure(
    _ operation: Operation, _ work: String, _ members: Int, _ lanes: [Lane],
    makeTeam: (Lane) throws(BenchmarkError) -> any Team
  ) throws(BenchmarkError) -> [Row] {
    var contenders: [(lane: Lane, team: any Team, series: Series)] = []
    defer { for contender in contenders { contender.team.end() } }
    for lane in lanes { contenders.append((lane, try makeTeam(lane), Series())) }
    for round in 0..<rounds {
      for turn in contenders.indices {
        let chosen = (turn + round) % contenders.count
        let name = contenders[chosen].lane.name
        let length = sliceLength(name, operation)
        let slices = (0..<members).map { member in
          entries(operation, length, name, salt: round * 64 + member)[...]
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
          threads: members, summary: summary)
      }
    }
  }

  private func entries(
    _ operation: Operation, _ length: Int, _ name: SystemName, salt: Int
  ) -> [EntryID] {
    if operation == .store { return takeFresh(length) }
    var generator = SplitMix(seed: corpus.seed &+ UInt64(salt) &* 7919)
    let bound = min(count, name.entryLimit ?? count)
    return (0..<length).map { _ in EntryID(index: Int.random(in: 0..<bound, using: &generator)) }
  }
}

/// Several workers on one cache.
protocol Team {
  /// Runs one slice per member, all at once.
  func run(
    _ operation: Operation, on slices: [ArraySlice<EntryID>]
  ) throws(BenchmarkError) -> SharedSlice
  /// Sends the workers home.
  func end()
}

/// Threads of this process, each with a handle of its own.
struct ThreadTeam: Team {
  private let handles: [any CacheUnderTest]
  private let corpus: Corpus

  /// Opens the handles.
  init(_ count: Int, _ lane: Lane, _ corpus: Corpus) throws(BenchmarkError) {
    var handles: [any CacheUnderTest] = []
    for _ in 0..<count { handles.append(try lane.system.sibling()) }
    self.handles = handles
    self.corpus = corpus
  }

  func run(
    _ operation: Operation, on slices: [ArraySlice<EntryID>]
  ) throws(BenchmarkError) -> SharedSlice {
    try runSideBySide(operation, handles, on: slices, of: corpus)
  }

  func end() {
    for handle in handles { handle.close() }
  }
}
