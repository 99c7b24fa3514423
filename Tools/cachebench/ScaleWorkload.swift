import CacheFormat
import CacheStore

extension Bench {
  /// Measures single steps of one store as it grows.
  ///
  /// `scale-find` asks the index alone, so it shows the index without the file system; an eviction
  /// is one step of the heap, one of the index, and three files removed.
  func scale() throws(BenchmarkError) {
    guard configuration.systems.contains(.store) else { return }
    progress("scale: \(Workload.scale.summary)")
    let corpus = Corpus(seed: configuration.seed, bodyBytes: configuration.body ?? 100)
    let lanes = try makeLanes([.store], corpus)
    defer { discard(lanes) }
    guard let lane = lanes.first, let system = lane.system as? StoreSystem else { return }
    var rows: [Row] = []
    var stored = 0
    for count in (configuration.entries ?? [10_000, 100_000, 1_000_000]).sorted() {
      if stored < count {
        progress("filling \(grouped(count)) entries")
        try system.storeUnmeasured((stored..<count).map { EntryID(index: $0) }[...])
        FileTree.writeBack()
      }
      rows += try scaleRows(system, corpus, count)
      // What was measured took as many away as it added, the oldest first.
      stored = count + scaleSteps
    }
    report.print("scale: steps of one store at growing sizes", rows, notes: growth(rows))
  }

  private func scaleRows(
    _ system: StoreSystem, _ corpus: Corpus, _ count: Int
  ) throws(BenchmarkError) -> [Row] {
    let fresh = (count..<(count + scaleSteps)).map { EntryID(index: $0) }
    // The oldest entries go away at every size, so only the younger half is read.
    let present = corpus.shuffled((count / 2)..<count).prefix(scaleSteps)
    let absent = corpus.shuffled(1_000_000_000..<(1_000_000_000 + scaleSteps))
    let put = try sliced(.store, system, corpus, fresh[...])
    let hit = try sliced(.hit, system, corpus, present)
    let miss = try sliced(.miss, system, corpus, absent[...])
    let find = finds(system, present)
    let evict = try evictions(system, corpus)
    let all = [
      ("scale-put", put), ("scale-hit", hit), ("scale-find", find), ("scale-miss", miss),
      ("scale-evict", evict),
    ]
    return all.compactMap { work, series in
      series.summary().map { summary in
        Row(
          work: work, system: .store, entries: count, body: corpus.bodyBytes, summary: summary)
      }
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
    _ system: StoreSystem, _ corpus: Corpus
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

/// How many times each step is measured at each size.
private let scaleSteps = 5_000
