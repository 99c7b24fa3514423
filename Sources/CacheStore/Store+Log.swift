internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Storing a small entry in the log: one append of a record that carries the body. Everything that
// depends on the entries of the key is decided under the lock of the journal. The shard is locked
// as well if files of settled entries have to be removed.
extension Store {
  /// The number of bytes up to which a body is stored in the log; `nil` if this process does not.
  var longestLogged: Int? {
    catalog.journal.settlingDelay > 0 ? catalog.journal.sizes.longestBody : nil
  }

  /// Returns whether a body of this length becomes a part of the metadata file when its entry is
  /// settled.
  func embeds(_ length: UInt64) -> Bool {
    let most = min(longestLogged ?? -1, catalog.journal.sizes.longestEmbedded)
    return Int64(clamping: length) <= most && catalog.state.withLock { $0.hasLogRoom(0) }
  }

  /// Stores an entry in the log.
  ///
  /// - Returns: `nil` if it has to be stored in the tree: it is too long, or the log is full, or the
  ///   journal is damaged or has format 1.
  func commitToLog(_ entry: NewEntry, _ hash: KeyHash) throws(StoreError) -> Stored? {
    guard let longestLogged, entry.length <= UInt64(longestLogged),
      catalog.state.withLock({ $0.hasLogRoom(entry.loggedBytes) })
    else { return nil }
    let body = try bytes(of: entry)
    let write = LogWrite(
      record: try entry.record(hash, in: catalog.tree), body: body, hash: hash, entry: entry,
      change: { [self] before in moment(of: entry, before) })
    guard let (record, placed, displaced) = try append(write) else { return nil }
    remember(record, entry, at: placed)
    return (EntryInfo(record: record, accessed: record.head.accessed), displaced)
  }

  /// Returns the bytes of a body. A staged one is read.
  func bytes(of entry: NewEntry) throws(StoreError) -> [UInt8] {
    switch entry.body {
    case .bytes(let bytes): return bytes
    case .staged(let file):
      return try system(file.content.path) { () throws(SystemError) in
        let bytes = try fileSystem.readBytes(
          file.content.file, count: Int(entry.length), at: 0)
        // The file is read back from the disk, so it is verified before its record promises it.
        guard bytes.count == Int(entry.length), entry.digest.names(bytes, hashSeed: hashSeed)
        else { throw .inputOutput }
        return bytes
      }
    }
  }

  /// An entry that is to be appended to the log.
  struct LogWrite {
    /// The record without times and pin.
    let record: PutRecord
    let body: [UInt8]
    let hash: KeyHash
    let entry: NewEntry
    /// Returns times and pin, or `nil` if the entry is not to be written any more.
    let change: (Before) throws(StoreError) -> PutRecord.Moment?
  }

  /// A record that was appended, and the variants of its key that it has displaced.
  typealias Logged = (record: PutRecord, placed: AppendedPlace, displaced: [Slot])

  /// The result of an attempt to append.
  private enum LogOutcome {
    case done(AppendedPlace, PutRecord.Moment, Before)
    /// Files have to be removed, so the shard has to be locked.
    case needsShard
    /// The entry is not to be written any more, or the log has no room.
    case refused
  }

  /// Appends an entry to the log, and removes the files of those that it replaces.
  ///
  /// - Returns: `nil` if the log has no room for it.
  func append(_ write: LogWrite) throws(StoreError) -> Logged? {
    var outcome = try append(write, in: nil)
    switch outcome {
    case .done(let placed, let moment, let before):
      try compactor.sync(placed)
      if !isAtLeastAsLarge(write, as: before.logged) {
        catalog.tree.staging.deleteReplaced(write.hash)
      }
      return (write.record.at(moment), placed, before.surplus)
    case .refused: return nil
    case .needsShard: break
    }
    return try catalog.withShard(of: write.hash) { shard throws(StoreError) -> Logged? in
      outcome = try append(write, in: shard.entries)
      guard case .done(let placed, let moment, let before) = outcome else { return nil }
      // After a loss of power, either the record is there or the files.
      try compactor.sync(placed)
      catalog.tree.staging.deleteReplaced(write.hash)
      let kept = before.others.filter { other in
        !other.isUnsettled && !before.surplus.contains { $0.variant == other.variant }
      }
      if kept.isEmpty, isAtLeastAsLarge(write, as: before.doomed),
        catalog.tree.staging.takeReplaced(write.hash, in: shard)
      {
        return (write.record.at(moment), placed, before.surplus)
      }
      for gone in before.doomed { catalog.tree.removeFiles(of: gone, kept, in: shard) }
      return (write.record.at(moment), placed, before.surplus)
    }
  }

  /// Returns whether the files of an entry will take at least the bytes that others take now. Then these
  /// may stay until it is settled: it is counted for the limits, and does not take its bytes before.
  private func isAtLeastAsLarge(_ write: LogWrite, as others: [Slot]) -> Bool {
    catalog.state.withLock { state in
      let bytes = others.reduce(0) { $0 + state.index.allocated($1) + $1.overhead }
      let body = write.entry.isEmbedded ? 0 : state.index.allocated(write.entry.length)
      return body + UInt64(write.record.head.overhead) >= bytes
    }
  }

  /// Appends an entry, and requests that it is settled in time, or now if entries that only the log has
  /// take half of it.
  ///
  /// - Parameter shard: the directory of the entries, if the shard is locked.
  private func append(
    _ write: LogWrite, in shard: EntriesDirectory?
  ) throws(StoreError) -> LogOutcome {
    var outcome = LogOutcome.refused
    var known: (moment: PutRecord.Moment, before: Before)?
    var isHalfUsed = false
    let count = write.entry.loggedBytes
    let placed = try catalog.writer.append { state throws(StoreError) -> [[UInt8]] in
      let before = Before(&state, write.hash, write.entry, now: catalog.clock.now())
      // An equal body that has a file takes no room in the tree, so nothing may be evicted for it.
      let isShared =
        state.limits.bytes != nil && before.sharing != nil && !write.entry.isEmbedded
      guard state.hasLogRoom(count), !isShared else { return [] }
      if let shard, state.entries !== shard { return [] }
      if shard == nil, !before.doomed.isEmpty {
        outcome = .needsShard
        return []
      }
      guard let moment = try write.change(before) else { return [] }
      if moment.isPinned {
        try evictor.checkPinQuota(write.entry.length, replacing: before.old, state)
      }
      known = (moment, before)
      isHalfUsed = state.logBudget.isHalfUsed(state.journal.bodies.unsettled + Int64(count))
      return removals(of: before.surplus) + [write.record.carrying(write.body, at: moment)]
    }
    guard let placed, let known else { return outcome }
    upkeep.requestSettling(after: isHalfUsed ? 0 : catalog.journal.settlingDelay)
    return .done(placed, known.moment, known.before)
  }
}
