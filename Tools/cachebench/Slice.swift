import CommandLineTools

enum Operation: Sendable {
  case store, replace, hit, miss
  case memoryHit
}

extension CacheUnderTest {
  /// Runs one operation per entry and times each alone.
  ///
  /// Making values and keys and checking answers is not measured.
  /// - Parameter gate: runs once everything is made ready, right before the first operation.
  func run(
    _ operation: Operation, on entries: ArraySlice<EntryID>, of corpus: Corpus,
    into series: inout Series, gate: () -> Void = {}
  ) throws {
    let times: [UInt64]
    switch operation {
    case .store:
      let values = try entries.map { try makeValue($0) }
      gate()
      times = try timed(values) { try store($0) }
    case .replace:
      let values = try entries.map { try makeValue($0) }
      gate()
      times = try timed(values) { try replace($0) }
    case .hit:
      times = try runHits(entries, of: corpus, gate: gate)
    case .memoryHit:
      let keys = entries.map { makeKey($0) }
      gate()
      times = try timedInGroups(keys) { key in
        guard try hit(key) else {
          throw BenchmarkError("\(name): an entry in memory was not found")
        }
      }
    case .miss:
      let keys = entries.map { makeKey($0) }
      gate()
      times = try timedInGroups(keys) { key in
        guard try miss(key) else {
          throw BenchmarkError("\(name): found a key that was never stored")
        }
      }
    }
    let settling = MonotonicClock.now()
    try settle()
    series.add(slice: times, wall: times.reduce(MonotonicClock.now() - settling, +))
  }

  func storeUnmeasured(_ entries: ArraySlice<EntryID>) throws {
    try beginBulk()
    for entry in entries {
      try Interruption.check()
      try store(makeValue(entry))
    }
    try endBulk()
    try settle()
  }

  /// Runs hits; one in 50 is compared with what was stored, outside the measured time.
  private func runHits(
    _ entries: ArraySlice<EntryID>, of corpus: Corpus, gate: () -> Void
  ) throws -> [UInt64] {
    let keys = entries.map { makeKey($0) }
    gate()
    var position = 0
    return try timed(keys) { key in
      guard try hit(key) else { throw wrongAnswer(entries, position, corpus) }
    } check: {
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
    _ elements: [Element], _ operation: (Element) throws -> Void, check: () throws -> Void = {}
  ) throws -> [UInt64] {
    var times: [UInt64] = []
    times.reserveCapacity(elements.count)
    for element in elements {
      try Interruption.check()
      let start = MonotonicClock.now()
      try operation(element)
      times.append(MonotonicClock.now() &- start)
      try check()
    }
    return times
  }

  /// Times operations of less than a microsecond 16 at a time: the clock takes 20 to 40 ns itself.
  /// Each counts with the mean of its group.
  @inline(__always)
  private func timedInGroups<Element>(
    _ elements: [Element], _ operation: (Element) throws -> Void
  ) throws -> [UInt64] {
    var times: [UInt64] = []
    times.reserveCapacity(elements.count)
    while times.count < elements.count {
      try Interruption.check()
      let group = times.count..<min(times.count + 16, elements.count)
      let start = MonotonicClock.now()
      for place in group { try operation(elements[place]) }
      let mean = (MonotonicClock.now() &- start) / UInt64(group.count)
      times += repeatElement(mean, count: group.count)
    }
    return times
  }
}
