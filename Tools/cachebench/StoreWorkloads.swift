import CacheStore

/// The workloads that bring caches of their own and mostly store: evict, duplicate and durable.
extension Bench {
  /// Stores into a store that is full, in turns with one of the same size that has room.
  func evict() throws {
    let count = configuration.entryCount
    let corpus = self.corpus
    let below = try makeLanes([.store], corpus)
    let full = try makeLanes([.store], corpus, Options(limits: Limits(entries: UInt64(count))))
    let lanes = below + full
    defer { close(lanes) }
    let first = (0..<count).map { EntryID(index: $0) }
    for lane in lanes { try lane.system.storeUnmeasured(first[...]) }
    FileTree.writeBack()
    let more = (count..<(count + min(count, 50_000))).map { EntryID(index: $0) }
    try runInTurns(.store, lanes, on: more, of: corpus)
    report.print(
      "evict: \(grouped(count)) entries and full, beside as many and room for more",
      rows("evict-below", below, entries: count, body: corpus.bodyBytes)
        + rows("evict", full, entries: count, body: corpus.bodyBytes),
      notes: full.compactMap { ($0.system as? StoreSystem)?.store.statistics }.map { statistics in
        "the full store evicted \(grouped(Int(statistics.evictions))) and holds "
          + "\(grouped(statistics.entries)) entries"
      })
  }

  /// Stores in bursts of 10,000 entries. Between them the store writes the files that it has left to
  /// the background, which is not measured.
  func burst() throws {
    let count = configuration.entryCount
    let corpus = self.corpus
    let lanes = try makeLanes([.store, .floor, .log, .sqliteTuned], corpus)
    defer { close(lanes) }
    let entries = (0..<count).map { EntryID(index: $0) }
    for lane in lanes { lane.begin(entries) }
    while lanes.contains(where: { !$0.isDone }) {
      let end = min(count, (lanes.map(\.progress).min() ?? 0) + 10_000)
      while lanes.contains(where: { $0.progress < end && !$0.isDone }) {
        for lane in lanes where lane.progress < end { try lane.advance(.store, of: corpus) }
      }
      for lane in lanes { try (lane.system as? StoreSystem)?.writeFiles() }
      FileTree.writeBack()
    }
    report.print(
      "burst: \(grouped(count)) entries, 10,000 at a time",
      rows("burst", lanes, entries: count, body: corpus.bodyBytes),
      notes: notes(lanes, asked: count))
  }

  func duplicate() throws {
    let count = configuration.entryCount
    var corpus = self.corpus
    corpus.distinctBodies = 16
    let lanes = try makeLanes([.store, .floor, .sqliteTuned], corpus)
    defer { close(lanes) }
    let entries = (0..<count).map { EntryID(index: $0) }
    try runInTurns(.store, lanes, on: entries, of: corpus)
    let shared = lanes.compactMap { ($0.system as? StoreSystem)?.store.statistics.sharedBytes }
    report.print(
      "duplicate: \(grouped(count)) entries, 16 different bodies of "
        + "\(grouped(corpus.bodyBytes)) bytes",
      rows("duplicate", lanes, entries: count, body: corpus.bodyBytes),
      notes: notes(lanes, asked: count)
        + shared.map { "the store saved \(grouped(Int($0))) bytes by sharing" })
  }

  /// Stores durably from 8 threads, beside SQLite with default settings and 8 connections.
  ///
  /// SQLite's connections take turns at a lock of the program: its own way of waiting sleeps, and
  /// is slower than that.
  func durable() throws {
    let threads = 8
    let corpus = self.corpus
    let lanes = try makeLanes([.store, .sqlite], corpus, Options(durability: .full))
    defer { close(lanes) }
    for lane in lanes { (lane.system as? SQLiteSystem)?.shareLock() }
    var next = 0
    let results = try runTeams(.store, lanes, threads: threads, of: corpus) { name, _ in
      FileTree.writeBack()
      let length = name == .store ? 100 : 25
      return (0..<threads).map { _ in
        defer { next += length }
        return (next..<(next + length)).map { EntryID(index: $0) }
      }
    }
    let rows = results.map { name, summary in
      Row(
        work: "durable", system: name, entries: summary.operations, body: corpus.bodyBytes,
        threads: threads, summary: summary)
    }
    report.print("durable: stores from \(threads) threads, each on the disk at its return", rows)
  }
}
