internal import CacheFormat
internal import CacheStore
internal import HTTPCaching

// Room in a destination with a limit on bytes.
extension Migration {
  /// Finds which rows have room, before one is moved; no body is read.
  ///
  /// - Returns: nil where there is no such limit.
  /// - Throws: `source` where the plan cannot be kept. Where the source fails, or somebody asks to stop,
  ///   the plan goes so far, and who moves the rows meets that again.
  func planRoom() throws(MigrationError) -> RoomPlan? {
    guard let store, let cache, let most = store.plannedBytes else { return nil }
    do throws(SourceError) {
      let plan = try source.makeRoomPlan()
      let entries = store.limits.entries.map {
        Int64(clamping: $0) - Int64(store.statistics.entries)
      }
      let left = Int64(clamping: most) - Int64(clamping: store.plannedForAll())
      source.startAfter(nil)
      while !stop.isRequested, let row = try? source.nextRow() {
        if let candidate = candidate(row, store, cache) { try source.add(candidate, to: plan) }
      }
      try source.decide(plan, bytes: left, entries: entries)
      return plan
    } catch { throw .source(error) }
  }

  /// What a row would bring; nil where it is not moved whatever room there is.
  private func candidate(
    _ row: SourceRow, _ store: Store, _ cache: ResponseCache
  ) -> RoomPlan.Candidate? {
    guard case .entry(let entry) = row.outcome,
      let url = try? mapper.url(of: entry.url),
      let (plan, adoption) = try? adopt(entry, row.row, as: url, cache),
      (try? check(entry, plan, store)) != nil, fits(entry, store)
    else { return nil }
    let known = store.info(for: plan.key, variant: plan.variant)
    if let known, (try? compare(entry, adoption, with: known, cache, readsBodies: false)) == nil {
      return nil
    }
    let replaced = known.map { Int64(clamping: store.planned($0.length)) } ?? 0
    return RoomPlan.Candidate(
      row: row.row, key: plan.key, variant: plan.variant,
      received: adoption.kept.times.response, accessed: adoption.past.accessed,
      bytes: Int64(clamping: store.planned(entry.body.length)) - replaced,
      replaces: known != nil)
  }

  /// Whether an entry would fit if it were the only one.
  func fits(_ entry: SourceEntry, _ store: Store) -> Bool {
    store.planned(entry.body.length) <= store.plannedBytes ?? .max
  }
}
