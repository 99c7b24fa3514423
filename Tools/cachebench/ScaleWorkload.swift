import CacheFormat
import CacheStore

extension Bench {
  /// Measures single steps of one store as it grows.
  ///
  /// `scale-find` asks the index alone, so it shows the index without the file system; an eviction
  /// is one step of the heap, one of the index, and three files removed.
  func scale() throws(BenchmarkError) {
    guard configuration.systems.contains(.store) else { return }
    let corpus = Corpus(seed: configuration.seed, bodyBytes: configuration.body ?? 100)
    let sizes = (configuration.entries ?? [10_000, 100_000, 1_000_000]).sorted()
    var lanes: [Lane] = []
    defer { close(lanes) }
    for count in sizes {
      let made = try makeLanes([.store], corpus)
      lanes += made
      progress("filling \(grouped(count)) entries")
      for lane in made {
        try lane.system.storeUnmeasured((0..<count).map { EntryID(index: $0) }[...])
      }
    }
    FileTree.writeBack()
    var rows: [Row] = []
    for step in ScaleStep.allCases {
      for (lane, count) in zip(lanes, sizes) {
        guard let system = lane.system as? StoreSystem else { continue }
        rows += try measure(step, system, corpus, count).map { [$0] } ?? []
      }
    }
    report.print("scale: steps of stores of growing sizes", rows, notes: growth(rows))
  }

  private func measure(
    _ step: ScaleStep, _ system: StoreSystem, _ corpus: Corpus, _ count: Int
  ) throws(BenchmarkError) -> Row? {
    let present = corpus.shuffled(0..<count).prefix(scaleSteps)
    let series: Series
    switch step {
    case .put:
      let fresh = (count..<(count + scaleSteps)).map { EntryID(index: $0) }
      series = try sliced(.store, system, corpus, fresh[...])
    case .hit: series = try sliced(.hit, system, corpus, present)
    case .find: series = finds(system, present)
    case .miss:
      let absent = (1_000_000_000..<(1_000_000_000 + scaleSteps)).map { EntryID(index: $0) }
      series = try sliced(.miss, system, corpus, absent[...])
    case .evict:
      // Entries without files would have to go before their bytes are free.
      try described { () throws(StoreError) in try system.store.settle() }
      series = try evictions(system)
    }
    return series.summary().map { summary in
      Row(
        work: "scale-\(step.rawValue)", system: .store, entries: count, body: corpus.bodyBytes,
        summary: summary)
    }
  }

  private func sliced(
    _ operation: Operation, _ system: StoreSystem, _ corpus: Corpus,
    _ entries: ArraySlice<EntryID>
  ) throws(BenchmarkError) -> Series {
    var series = Series()
    var rest = entries
    while !rest.isEmpty {
      try system.run(operation, on: rest.prefix(500), of: corpus, into: &series)
      rest = rest.dropFirst(500)
    }
    return series
  }

  private func finds(_ system: StoreSystem, _ entries: ArraySlice<EntryID>) -> Series {
    var series = Series()
    for slice in stride(from: entries.startIndex, to: entries.endIndex, by: 500) {
      let keys = entries[slice..<min(slice + 500, entries.endIndex)].map { system.makeKey($0) }
      let mark = series.mark
      for key in keys {
        let start = MonotonicClock.now()
        let isThere = system.store.contains(key)
        series.record(MonotonicClock.now() - start)
        precondition(isThere, "The store lost \(key).")
      }
      series.endSlice(start: mark, settling: 0)
    }
    return series
  }

  /// Evicts one entry at a time.
  private func evictions(
    _ system: StoreSystem
  ) throws(BenchmarkError) -> Series {
    var series = Series()
    for _ in 0..<(scaleSteps / 100) {
      let mark = series.mark
      for _ in 0..<100 {
        try Interrupt.check()
        try evictOne(system, &series)
      }
      series.endSlice(start: mark, settling: 0)
    }
    return series
  }

  private func evictOne(
    _ system: StoreSystem, _ series: inout Series
  ) throws(BenchmarkError) {
    let used = system.store.statistics.allocatedBytes
    let start = MonotonicClock.now()
    let count = try described { () throws(StoreError) in
      try system.store.trim(toBytes: used - 1)
    }
    let spent = MonotonicClock.now() - start
    for _ in 0..<count { series.record(spent / UInt64(count)) }
  }

  /// Says how much slower each step is at the largest size than at the smallest.
  private func growth(_ rows: [Row]) -> [String] {
    guard let least = rows.map(\.entries).min(), let most = rows.map(\.entries).max(),
      least < most
    else { return [] }
    return rows.filter { $0.entries == most }.compactMap { row in
      rows.first { $0.work == row.work && $0.entries == least }.map { first in
        let mean = row.summary.sliceMean / first.summary.sliceMean
        let tail = row.summary.p999 / max(1, first.summary.p999)
        return "\(row.work): \(grouped(least)) to \(grouped(most)) entries: mean x "
          + "\(fixed(mean, 2)), p99.9 x \(fixed(tail, 2))"
      }
    }
  }
}

/// The steps, those that remove files last.
private enum ScaleStep: String, CaseIterable {
  case put, hit, find, miss, evict
}

/// How many times each step is measured at each size.
private let scaleSteps = 5_000
