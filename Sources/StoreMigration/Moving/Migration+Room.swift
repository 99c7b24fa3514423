internal import CacheFormat
internal import CacheStore
internal import HTTPCaching

// The plan for a destination with limits.
extension Migration {
  /// Finds the rows that have room, before any is moved. No body is read.
  ///
  /// If only the number of entries is limited, the store keeps the most recently used ones, old and
  /// new. A dry run stores nothing, so here both are sorted.
  ///
  /// - Returns: The plan, or `nil` if all rows are to be tried.
  /// - Throws: `source` if the plan cannot be stored. If the source fails, or the migration is
  ///   stopped, the plan ends there, and moving the rows meets the same condition again.
  func planRoom() throws(MigrationError) -> RoomPlan? {
    guard let store, let cache else { return nil }
    let most = store.plannedBytes
    guard most != nil || options.isDryRun && store.limits.entries != nil else { return nil }
    do throws(DatabaseError) {
      let plan = try RoomPlan(in: source.source.folder)
      let entries = store.limits.entries.map {
        Int64(clamping: $0) - (most == nil ? 0 : Int64(store.statistics.entries))
      }
      if most == nil { try add(store, to: plan) }
      let left = most.map { Int64(clamping: $0) - Int64(clamping: store.plannedForAll()) } ?? .max
      source.startAfter(nil)
      while !stop.isRequested, let row = try? source.nextRow() {
        if var candidate = candidate(row, store, cache) {
          candidate.replaces = candidate.replaces && most != nil
          try plan.add(candidate)
        }
      }
      try plan.decide(bytes: left, entries: entries)
      return plan
    } catch { throw .source(SourceError(.copy, source.path, error.message)) }
  }

  /// Adds the entries of the destination, which a limit on entries counts like the rows.
  private func add(_ store: Store, to plan: RoomPlan) throws(DatabaseError) {
    for entry in store.entries() where !stop.isRequested {
      try plan.add(
        RoomPlan.Candidate(
          row: -1, key: entry.key, variant: entry.variant, received: entry.created,
          accessed: entry.accessed, bytes: 0, replaces: false))
    }
  }

  /// Returns the room that a row needs, or `nil` if the row is not moved in any case.
  private func candidate(
    _ row: SourceRow, _ store: Store, _ cache: ResponseCache
  ) -> RoomPlan.Candidate? {
    guard case .entry(let entry) = row.outcome,
      let url = try? mapper.url(of: entry.url),
      let (plan, adoption) = try? adopt(entry, row.row, as: url, cache),
      let size = try? check(entry, plan, store), fits(entry, size, store)
    else { return nil }
    let known = store.info(for: plan.key, variant: plan.variant)
    if let known, (try? compare(entry, adoption, with: known, cache, readsBodies: false)) == nil {
      return nil
    }
    let replaced = Int64(clamping: store.planned(for: plan.key, variant: plan.variant))
    return RoomPlan.Candidate(
      row: row.row, key: plan.key, variant: plan.variant,
      received: adoption.kept.times.response, accessed: adoption.past.accessed,
      bytes: Int64(clamping: store.planned(entry.body.length, size)) - replaced,
      replaces: known != nil)
  }

  /// Returns whether an entry would fit if it were the only one.
  func fits(_ entry: SourceEntry, _ size: MetadataSize, _ store: Store) -> Bool {
    store.planned(entry.body.length, size) <= store.plannedBytes ?? .max
  }
}
