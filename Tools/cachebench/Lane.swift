/// One system in a comparison, and what was measured of it so far.
final class Lane {
  let system: any CacheUnderTest
  let directory: String
  private(set) var series = Series()
  private var entries: [EntryID] = []
  private(set) var progress = 0
  /// Whether the store writes its files after each slice, so that it does not do so while the others
  /// are measured.
  var writesFiles = false
  /// The time that this took, in nanoseconds.
  private(set) var filesTime: UInt64 = 0

  init(_ system: any CacheUnderTest, directory: String) {
    self.system = system
    self.directory = directory
  }

  var name: SystemName { system.name }

  /// Starts a workload: forgets what was measured, and takes the entries it can bear.
  func begin(_ entries: [EntryID]) {
    self.entries = name.entryLimit.map { limit in entries.filter { $0.index < limit } } ?? entries
    progress = 0
    series = Series()
    filesTime = 0
    if let seconds = name.secondsAllowed { series.budget = UInt64(seconds * 1e9) }
  }

  /// Tells whether there is nothing left to do, or no time to do it.
  var isDone: Bool { progress >= entries.count || series.isExhausted }

  func advance(_ operation: Operation, of corpus: Corpus) throws {
    let end = min(entries.count, progress + name.sliceLength)
    if name.waitsForDisk {
      // Its syncs must not write out what the others left in the system's cache.
      FileTree.writeBack()
    }
    try system.run(operation, on: entries[progress..<end], of: corpus, into: &series)
    progress = end
    if writesFiles, let store = system as? StoreSystem {
      let start = MonotonicClock.now()
      try store.writeFiles()
      filesTime += MonotonicClock.now() - start
    }
  }

  func addFilesTime() { series.addToSlices(filesTime) }

  func finishUnmeasured() throws {
    guard progress < entries.count else { return }
    try system.storeUnmeasured(entries[progress...])
    progress = entries.count
  }
}

/// Runs the same operations on several systems, slice by slice in turns.
///
/// Every round begins with another system, so that none always follows the same one.
func runInTurns(
  _ operation: Operation, _ lanes: [Lane], on entries: [EntryID], of corpus: Corpus
) throws {
  for lane in lanes { lane.begin(entries) }
  var round = 0
  while lanes.contains(where: { !$0.isDone }) {
    for turn in lanes.indices {
      let lane = lanes[(turn + round) % lanes.count]
      if !lane.isDone { try lane.advance(operation, of: corpus) }
    }
    round += 1
  }
}
