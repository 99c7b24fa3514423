/// Processes that each open the same cache.
final class ProcessTeam: Team {
  private var children: [ChildProcess] = []

  /// Starts the processes; each opens the cache of `system` in `directory`.
  init(
    _ count: Int, _ system: SystemName, _ directory: String, _ operation: Operation,
    _ corpus: Corpus
  ) throws(BenchmarkError) {
    for _ in 0..<count {
      children.append(
        try ChildProcess([
          ChildRole.worker.rawValue, system.rawValue, directory, operation.rawValue,
          String(corpus.seed), String(corpus.bodyBytes),
        ]))
    }
  }

  func run(
    _ operation: Operation, on slices: [ArraySlice<EntryID>]
  ) throws(BenchmarkError) -> SharedSlice {
    for (child, slice) in zip(children, slices) {
      child.send(slice.map { String($0.index) }.joined(separator: " "))
    }
    for child in children { _ = try child.readLine() }
    for child in children { child.send("go") }
    var result = SharedSlice()
    for child in children {
      let numbers = try child.readLine().split(separator: " ").compactMap { UInt64($0) }
      guard numbers.count > 2 else { throw .failed("a process answered nonsense") }
      result.start = min(result.start, numbers[0])
      result.end = max(result.end, numbers[1])
      result.operations += numbers[2...]
    }
    return result
  }

  func end() {
    for child in children { child.finish() }
    children = []
  }
}

/// What a child process is started for; the first argument of its command line.
enum ChildRole: String {
  case worker = "child-worker"
  case open = "child-open"
  case large = "child-large"

  /// Runs the role with the rest of the arguments.
  func run(_ arguments: [String]) throws(BenchmarkError) {
    switch self {
    case .worker: try runWorker(arguments)
    case .open: try runOpen(arguments)
    case .large: try runLarge(arguments)
    }
  }
}

/// Works for a `ProcessTeam` until its input ends.
private func runWorker(_ arguments: [String]) throws(BenchmarkError) {
  guard arguments.count == 5, let name = SystemName(rawValue: arguments[0]),
    let operation = Operation(rawValue: arguments[2]), let seed = UInt64(arguments[3]),
    let body = Int(arguments[4])
  else { throw .usage("cachebench: a worker needs system, folder, operation, seed and body") }
  let corpus = Corpus(seed: seed, bodyBytes: body)
  let system = try openSystem(name, arguments[1], corpus)
  defer { system.close() }
  let input = LineReader(descriptor: 0)
  while let line = input.next() {
    let entries = line.split(separator: " ").compactMap { Int($0) }.map { EntryID(index: $0) }
    var series = Series()
    var start: UInt64 = 0
    try system.run(operation, on: entries[...], of: corpus, into: &series) {
      emit("ready\n")
      _ = input.next()
      start = MonotonicClock.now()
    }
    let end = MonotonicClock.now()
    let samples = series.operations.map { String($0) }.joined(separator: " ")
    emit("\(start) \(end) \(samples)\n")
  }
}
