internal import CacheFormat
internal import CacheStore
internal import HTTPCaching

// Room in a destination with limits.
extension Migration {
  /// Finds which rows have room, before one is moved; no body is read.
  ///
  /// A limit on entries alone is the store's affair, which keeps what was asked for last of the rows and of
  /// what is there. A dry run stores nothing, so here both are put in order.
  ///
  /// - Returns: nil where all rows are to be tried.
  /// - Throws: `source` where the plan cannot be kept. Where the source fails, or somebody asks to stop,
  ///   the plan goes so far, and who moves the rows meets that again.
  func planRoom() throws(MigrationError) -> RoomPlan? {
    guard let store, let cache else { return nil }
    let most = store.plannedBytes
    guard most != nil || options.isDryRun && store.limits.entries != nil else { return nil }
    do throws(SourceError) {
      let plan = try source.makeRoomPlan()
      let entries = store.limits.entries.map {
        Int64(clamping: $0) - (most == nil ? 0 : Int64(store.statistics.entries))
      }
      if most == nil { try add(store, to: plan) }
      let left = most.map { Int64(clamping: $0) - Int64(clamping: store.plannedForAll()) } ?? .max
      source.startAfter(nil)
      while !stop.isRequested, let row = try? source.nextRow() {
        if var candidate = candidate(row, store, cache) {
          candidate.replaces = candidate.replaces && most != nil
          try source.add(candidate, to: plan)
        }
      }
      try source.decide(plan, bytes: left, entries: entries)
      return plan
    } catch { throw .source(error) }
  }

  /// Adds what is there, which a limit on entries counts like the rows.
  private func add(_ store: Store, to plan: RoomPlan) throws(SourceError) {
    for entry in store.entries() where !stop.isRequested {
      try source.add(
        RoomPlan.Candidate(
          row: -1, key: entry.key, variant: entry.variant, received: entry.created,
          accessed: entry.accessed, bytes: 0, replaces: false), to: plan)
    }
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
