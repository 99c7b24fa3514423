import TestSupport

private func sliceLength(_ name: SystemName, _ operation: Operation) -> Int {
  switch name {
  case .store, .floor, .log, .dictionary: operation == .hit ? 5_000 : 1_000
  case .sqliteTuned: 1_000
  case .sqlite: 50
  case .urlcache: 5
  }
}

extension FilledCaches {
  func measureThreads() throws {
    let shared = lanes.filter { ![.log, .dictionary].contains($0.name) }
    for (operation, work) in [(Operation.hit, "concurrent-hit"), (.store, "concurrent-store")] {
      for threads in bench.configuration.threads {
        rows += try measure(operation, work, threads, shared)
      }
    }
  }

  private func measure(
    _ operation: Operation, _ work: String, _ threads: Int, _ lanes: [Lane]
  ) throws -> [Row] {
    let results = try runTeams(operation, lanes, threads: threads, of: corpus) { name, round in
      if name.waitsForDisk { FileTree.writeBack() }
      let length = sliceLength(name, operation)
      return (0..<threads).map { entries(operation, length, name, salt: round * 64 + $0) }
    }
    return results.map { name, summary in
      Row(
        work: work, system: name, entries: min(count, name.entryLimit ?? count),
        body: corpus.bodyBytes, threads: threads, summary: summary)
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

/// Runs an operation on several threads of each system, each with a handle of its own, in turns.
///
/// - Parameter slices: Returns the entries for each thread of a system in a round.
func runTeams(
  _ operation: Operation, _ lanes: [Lane], threads: Int, of corpus: Corpus,
  slices: (_ name: SystemName, _ round: Int) -> [[EntryID]]
) throws -> [(name: SystemName, summary: Summary)] {
  var teams: [(name: SystemName, handles: [any CacheUnderTest], series: Series)] = []
  defer { for team in teams { for handle in team.handles { handle.close() } } }
  for lane in lanes {
    let handles = try (0..<threads).map { _ in try lane.system.sibling() }
    teams.append((lane.name, handles, Series()))
  }
  for round in 0..<12 {
    for turn in teams.indices {
      let chosen = (turn + round) % teams.count
      let slices = slices(teams[chosen].name, round).map { $0[...] }
      let result = try runSideBySide(operation, teams[chosen].handles, on: slices, of: corpus)
      teams[chosen].series.add(slice: result.operations, wall: result.wall)
    }
  }
  return teams.compactMap { team in team.series.summary().map { (team.name, $0) } }
}
