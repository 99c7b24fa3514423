import CacheFormat
import CacheStore
import StoreMigration

extension Bench {
  /// Moves a cache of YYCache into a store, in turns with a store that takes the same bodies by itself.
  ///
  /// A row is measured from the end of the one before: reading it, its body, and storing it. Opening
  /// the source, with a look at all its pages, is in the note.
  func migrate() throws {
    guard configuration.systems.contains(.store) else { return }
    let (count, corpus) = (configuration.entryCount, corpus)
    let folder = try workspace.makeDirectory("migrate")
    try makeSource("\(folder)/source.sqlite", count, corpus)
    var (moved, plain) = (Series(), Series())
    var (laps, done, opening): ([UInt64], Int, UInt64) = ([], 0, 0)
    do {
      let start = MonotonicClock.now()
      let migration = try Migration(
        from: "\(folder)/source.sqlite", to: "\(folder)/moved",
        options: MigrationOptions(temporaryFolder: folder))
      opening = MonotonicClock.now() - start
      let store = try Store(at: "\(folder)/plain")
      defer {
        store.close()
        migration.store?.close()
      }
      var last = MonotonicClock.now()
      try migration.run { _ in
        let now = MonotonicClock.now()
        laps.append(now - last)
        last = now
        guard laps.count == SystemName.store.sliceLength else { return }
        moved.add(slice: laps, wall: laps.reduce(0, +))
        laps.removeAll(keepingCapacity: true)
        Self.put(done, corpus, store, &plain)
        done += SystemName.store.sliceLength
        last = MonotonicClock.now()
      }
    }
    report.print(
      "migrate: \(grouped(count)) rows, beside a store that takes the same bodies",
      [("put", plain), ("migrate", moved)].compactMap { work, series in
        series.summary().map {
          Row(work: work, system: .store, entries: count, body: corpus.bodyBytes, summary: $0)
        }
      },
      notes: [
        "opening the source took \(opening / 1_000_000) ms",
        "the process occupies \(Memory.residentBytes() >> 20) MiB with both stores open",
      ])
  }

  private static func put(_ first: Int, _ corpus: Corpus, _ store: Store, _ series: inout Series) {
    let times = (first..<(first + SystemName.store.sliceLength)).compactMap { index in
      let body = corpus.body(EntryID(index: index))
      let key = ByteString("GET \(corpus.url(index))")
      let start = MonotonicClock.now()
      return (try? store.put(body, for: key)).map { _ in MonotonicClock.now() - start }
    }
    series.add(slice: times, wall: times.reduce(0, +))
  }

  private func makeSource(_ path: String, _ count: Int, _ corpus: Corpus) throws {
    let database = try SQLiteDatabase(path: path)
    defer { database.close() }
    try database.execute(
      """
      CREATE TABLE manifest(key text, filename text, size integer, inline_data blob,
        modification_time integer, last_access_time integer, extended_data blob, primary key(key));
      BEGIN
      """)
    let insert = try database.prepare(
      "INSERT INTO manifest VALUES(?, NULL, ?, ?, 1600000000, ?, NULL)")
    defer { insert.finalize() }
    for index in 0..<count {
      let value = SQLiteSystem.Value([
        Array(corpus.url(index).utf8), corpus.body(EntryID(index: index)),
      ])
      // Safety: the value lives until the statement is reset.
      unsafe insert.bind(1, value.part(0), isText: true)
      insert.bind(2, Int64(corpus.bodyBytes))
      unsafe insert.bind(3, value.part(1))
      insert.bind(4, Int64(1_600_000_000 + index))
      _ = try insert.step()
      insert.reset()
      withExtendedLifetime(value) {}
    }
    try database.execute("COMMIT")
  }
}
