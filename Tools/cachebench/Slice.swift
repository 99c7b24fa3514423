/// What is done to a cache, over and over.
enum Operation: Sendable {
  case store, replace, hit, miss
  /// A hit that the memory tier answers.
  case memoryHit
}

extension CacheUnderTest {
  /// Runs one operation per entry and times each alone.
  ///
  /// Making values and keys and checking answers is not measured. It ends early when the budget
  /// of the series is spent.
  /// - Parameter gate: runs once everything is made ready, right before the first operation.
  /// - Returns: How many operations ran.
  @discardableResult
  func run(
    _ operation: Operation, on entries: ArraySlice<EntryID>, of corpus: Corpus,
    into series: inout Series, gate: () -> Void = {}
  ) throws(BenchmarkError) -> Int {
    let start = series.mark
    let count: Int
    switch operation {
    case .store:
      let values = try makeValues(entries)
      gate()
      count = try timed(values, &series) { (value) throws(BenchmarkError) in try store(value) }
    case .replace:
      let values = try makeValues(entries)
      gate()
      count = try timed(values, &series) { (value) throws(BenchmarkError) in try replace(value) }
    case .hit:
      count = try runHits(entries, of: corpus, into: &series, gate: gate)
    case .memoryHit:
      let keys = entries.map { makeKey($0) }
      gate()
      count = try timedInGroups(keys, &series) { (key) throws(BenchmarkError) in
        guard try hit(key) else { throw .failed("\(name): an entry in memory was not found") }
      }
    case .miss:
      let keys = entries.map { makeKey($0) }
      gate()
      count = try timedInGroups(keys, &series) { (key) throws(BenchmarkError) in
        guard try miss(key) else { throw .failed("\(name): found a key that was never stored") }
      }
    }
    let settling = MonotonicClock.now()
    try settle()
    series.endSlice(start: start, settling: MonotonicClock.now() - settling)
    return count
  }

  /// Stores entries without measuring.
  func storeUnmeasured(_ entries: ArraySlice<EntryID>) throws(BenchmarkError) {
    try beginBulk()
    for entry in entries {
      try Interrupt.check()
      try store(makeValue(entry))
    }
    try endBulk()
    try settle()
  }

  private func makeValues(_ entries: ArraySlice<EntryID>) throws(BenchmarkError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(entries.count)
    for entry in entries { values.append(try makeValue(entry)) }
    return values
  }

  /// Runs hits; one in 50 is compared with what was stored, outside the measured time.
  private func runHits(
    _ entries: ArraySlice<EntryID>, of corpus: Corpus, into series: inout Series, gate: () -> Void
  ) throws(BenchmarkError) -> Int {
    let keys = entries.map { makeKey($0) }
    gate()
    var position = 0
    return try timed(keys, &series) { (key) throws(BenchmarkError) in
      guard try hit(key) else { throw wrongAnswer(entries, position, corpus) }
    } check: { () throws(BenchmarkError) in
      if position % 50 == 0 {
        let expected = corpus.body(entries[entries.startIndex + position])
        guard lastBodyEquals(expected) else { throw wrongAnswer(entries, position, corpus) }
      }
      position += 1
    }
  }

  private func wrongAnswer(
    _ entries: ArraySlice<EntryID>, _ position: Int, _ corpus: Corpus
  ) -> BenchmarkError {
    let key = corpus.key(entries[entries.startIndex + position].index)
    return .wrongAnswer(system: name.rawValue, key: String(decoding: key, as: UTF8.self))
  }

  @inline(__always)
  private func timed<Element>(
    _ elements: [Element], _ series: inout Series,
    _ operation: (Element) throws(BenchmarkError) -> Void,
    check: () throws(BenchmarkError) -> Void = {}
  ) throws(BenchmarkError) -> Int {
    for (position, element) in elements.enumerated() {
      if series.isExhausted { return position }
      try Interrupt.check()
      let start = MonotonicClock.now()
      try operation(element)
      series.record(MonotonicClock.now() &- start)
      try check()
    }
    return elements.count
  }

  /// Times operations of less than a microsecond 16 at a time: the clock takes 20 to 40 ns itself.
  /// Each counts with the mean of its group.
  @inline(__always)
  private func timedInGroups<Element>(
    _ elements: [Element], _ series: inout Series,
    _ operation: (Element) throws(BenchmarkError) -> Void
  ) throws(BenchmarkError) -> Int {
    var position = 0
    while position < elements.count {
      if series.isExhausted { return position }
      try Interrupt.check()
      let end = min(position + 16, elements.count)
      let start = MonotonicClock.now()
      for place in position..<end { try operation(elements[place]) }
      let mean = (MonotonicClock.now() &- start) / UInt64(end - position)
      for _ in position..<end { series.record(mean) }
      position = end
    }
    return elements.count
  }
}
