internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// The repair of a store after a crash, or if its journal is damaged. It compares tree and index,
/// one key at a time under the lock of its shard, while the store is in use.
///
/// - If the journal is whole, it decides. Files without a record were never promised, or were removed, and
///   are deleted. Entries whose bodies are lost are removed, unless their whole shard is missing, which may be
///   so for a moment only.
/// - If the journal is damaged, the tree decides. Its entries are appended to the journal. Entries without a
///   body are removed, because they may have been removed before. Only then is the journal written anew.
package final class Recovery: CatalogUser {
  let compactor: Compactor
  let settler: Settler
  let catalog: Catalog
  let events: EventHub

  init(_ compactor: Compactor, _ events: EventHub) {
    self.compactor = compactor
    self.events = events
    settler = compactor.settler
    catalog = compactor.catalog
  }

  /// Compares tree and index, repairs the store, and then removes the signs that this has to be done.
  ///
  /// - Returns: whether it was completed. If something could not be read or written, or the store is being
  ///   closed, it has to be done again.
  @discardableResult
  func reconcile() -> Bool {
    let uncleanCount = tree.staging.uncleanCount
    // Only a journal that is not whole, and a comparison, need what was removed.
    defer { catalog.state.withLock { if $0.journal.isWhole { $0.removals = nil } } }
    guard let dead = try? deadSessionsNow(), (try? writer.readUnread()) != nil else { return false }
    // After a loss of power, an earlier record may count, whose files are removed here.
    if catalog.isIndexWhole {
      // It synchronizes the volume.
      try? settler.resolveUnwrittenFiles(isWaiting: true)
      if (try? compactor.renewAfterFailedSync()) == nil { return false }
    }
    // Without the sessions the bytes after the last record would count as damage.
    if !dead.isEmpty, (try? writer.cutTornTail()) == nil { return false }
    // Incomplete files are removed first, because they take room that no limit counts.
    removeFiles(ofSessions: dead)
    // Files that could not be read may be all that is left of an entry, so the signs stay.
    let before = tree.staging.comparedShards(since: dead)
    var compared = before
    defer {
      if catalog.isIndexWhole, compared != before {
        tree.staging.noteCompared(compared, since: dead)
      }
    }
    let takenUp: IndexVersion?
    do throws(StoreError) { takenUp = try reconcileKeys(&compared) } catch { return false }
    if upkeep.isStopping { return false }
    guard (try? completeRemovals(of: dead)) != nil else { return false }
    guard checkBodies(&compared) else { return false }
    if let takenUp, !catalog.isIndexWhole { try? renew(sinceTakenUp: takenUp) }
    // Until then the sessions tell all that read the journal that the machine has restarted. A file that
    // could not be removed would be an entry again if the journal were lost.
    guard catalog.isIndexWhole, tree.staging.uncleanCount == uncleanCount else { return false }
    tree.staging.setCompared(uncleanCount)
    catalog.state.withLock { ($0.endedUncleanly, $0.journal.hasRestarted) = (false, false) }
    removeSessions(dead)
    return true
  }

  /// Writes the journal anew after every entry of the tree was appended to it.
  ///
  /// - Parameter version: that of the index before. What was found to be damaged since then may have
  ///   changed entries that were looked at already.
  private func renew(
    sinceTakenUp version: IndexVersion, _ gaveUp: (Slot) -> Void = { _ in }
  ) throws(StoreError) {
    try releaseDoubtful(gaveUp)
    guard catalog.state.withLock({ $0.setCompleted(since: version) }) else { return }
    try settler.resolveUnwrittenFiles(isWaiting: true)
    try compactor.renewJournal()
  }

  /// Appends the entries of the tree to a journal that is not whole, and then writes it anew, for a checker.
  ///
  /// - Parameter gaveUp: called with each entry in the log that is given up.
  /// - Throws: an error also if a file could not be read. Then the journal is not written anew.
  package func takeUpAndRenew(_ gaveUp: (Slot) -> Void) throws(StoreError) {
    if catalog.isIndexWhole { return }
    try writer.readUnread()
    writer.beginJournal()
    let version = catalog.state.withLock { $0.version }
    for number in 0..<Layout.shardCount {
      try forEachKey(of: number) { hash, _, _ throws(StoreError) in try askTree(hash) }
    }
    try renew(sinceTakenUp: version, gaveUp)
    if !catalog.isIndexWhole {
      throw StoreError(
        .inputOutput, path: "\(path)/journal", cause: "the journal could not be written anew",
        remedy: "check again when no other process compacts it")
    }
  }

  /// Writes the journal anew without the removed and replaced entries.
  ///
  /// - Throws: `readOnly`, `inputOutput` if the journal is damaged and cannot be written anew yet,
  ///   `noSpace`, `closed`.
  /// - Complexity: O(all entries).
  func purge() throws(StoreError) {
    if catalog.isReadOnly { throw .readOnly(path) }
    completeIndex()
    tree.staging.sweepReplaced()
    try compactor.purge()
  }

  /// Returns the names of the sessions of processes that are gone.
  package func deadSessionsNow() throws(StoreError) -> [PathName] {
    try journal.withLock { () throws(StoreError) in try tree.staging.deadSessions() }
  }

  /// Removes the files of sessions of processes that are gone. The sessions stay, as signs.
  package func removeFiles(ofSessions names: [PathName]) {
    for name in names { tree.staging.removeFiles(ofSession: name) }
  }

  /// Removes sessions of processes that are gone, unless a process holds their locks.
  package func removeSessions(_ names: [PathName]) {
    for name in names where !upkeep.isStopping { tree.staging.removeSession(name) }
  }

  /// Waits until the index has every entry.
  ///
  /// - Complexity: O(1); if the journal was damaged or lost, O(all entries) once.
  func completeIndex() {
    guard catalog.state.withLock({ !$0.isComplete && !$0.isClosed }) else { return }
    if !catalog.isReadOnly {
      upkeep.requestReconciling()
      upkeep.waitUntilIdle()
      return
    }
    var isRead = true
    let version = catalog.state.withLock { $0.version }
    for number in 0..<Layout.shardCount {
      do throws(StoreError) {
        try forEachKey(of: number) { hash, _, _ throws(StoreError) in
          do throws(StoreError) { try askTree(hash) } catch { isRead = false }
        }
      } catch { isRead = false }
    }
    if isRead { catalog.state.withLock { $0.completeWithoutWriting(since: version) } }
  }

  /// Waits up to a second for the comparison of tree and journal. Called when the store is closed,
  /// so that short-lived programs can complete the comparison, too.
  func finishComparing() {
    let isDone = catalog.state.withLock { !$0.endedUncleanly && $0.isComplete }
    if catalog.isSupervised || isDone { return }
    upkeep.waitUntilIdle(nanoseconds: 1_000_000_000)
  }

  // MARK: Keys

  /// - Returns: `nil` if the journal is whole. Otherwise every entry of the tree was appended to it, and this
  ///   is the version of the index before that.
  private func reconcileKeys(
    _ compared: inout ComparedShards
  ) throws(StoreError) -> IndexVersion? {
    try findLostRecords(&compared)
    // One key that cannot be read or repaired does not keep the others from it.
    var failure: StoreError?
    let version = catalog.isIndexWhole ? nil : catalog.state.withLock { $0.version }
    for number in 0..<Layout.shardCount where version != nil || compared[number] < .equal {
      let uncleanCount = tree.staging.uncleanCount
      var isEqual = version == nil
      try forEachKey(of: number) { hash, shard, entries throws(StoreError) in
        if upkeep.isStopping { throw .closed(path) }
        if version == nil, isAsExpected(hash, Layout.key(hash), in: shard) { return }
        do throws(StoreError) { try reconcile(hash, entries) } catch {
          (failure, isEqual) = (error, false)
        }
      }
      if isEqual, tree.staging.uncleanCount == uncleanCount { compared[number] = .equal }
    }
    if let failure { throw failure }
    return version
  }

  /// Compares all keys with a whole journal. If one of them proves that records are lost, the journal counts as
  /// damaged, and the others are left out.
  ///
  /// - Throws: an error if files cannot be read now. The others have been compared.
  package func findLostRecords() throws(StoreError) {
    var compared = ComparedShards()
    do throws(StoreError) { try findLostRecords(&compared) } catch {
      catalog.state.withLock { $0.mustSearch = true }
      throw error
    }
  }

  /// Does the same for the shards that were not searched yet.
  private func findLostRecords(_ compared: inout ComparedShards) throws(StoreError) {
    var failure: StoreError?
    for number in 0..<Layout.shardCount where compared[number] == .unknown {
      var state = ComparedShards.State.equal
      // One shard or key that cannot be read does not hide what others prove.
      do throws(StoreError) {
        try forEachKey(of: number) { hash, shard, entries throws(StoreError) in
          if upkeep.isStopping { throw .closed(path) }
          if !catalog.isIndexWhole || isAsExpected(hash, Layout.key(hash), in: shard) { return }
          if state == .equal { state = .searched }
          do throws(StoreError) {
            try tree.withShard(of: hash, in: entries) { shard throws(StoreError) in
              guard let directory = try tree.openKey(hash, in: shard) else { return }
              _ = try noteLostRecords(try tree.files(in: directory), of: hash, in: directory)
            }
          } catch { (failure, state) = (error, .unknown) }
        }
      } catch { (failure, state) = (error, .unknown) }
      if !catalog.isIndexWhole { return }
      compared[number] = state
    }
    if let failure { throw failure }
  }

  /// Calls `body` with each key that has a directory in a shard.
  private func forEachKey(
    of number: Int,
    _ body: (KeyHash, borrowing Descriptor, EntriesDirectory) throws(StoreError) -> Void
  ) throws(StoreError) {
    let entries = catalog.state.withLock { $0.entries }
    guard let shard = try tree.openShard(number, in: entries) else { return }
    for hash in try tree.keys(in: shard, number) { try body(hash, shard, entries) }
  }

  /// Returns whether the directory of a key has exactly the files that the index expects. No lock
  /// is held. If it has not, the caller compares again under the lock.
  private func isAsExpected(
    _ hash: KeyHash, _ name: PathName, in shard: borrowing Descriptor
  ) -> Bool {
    guard let directory = try? fileSystem.open(name, in: shard, [.read, .directory])
    else { return false }
    let slots = catalog.settledSlots(of: hash)
    let found = try? tree.files(in: directory)
    guard !slots.isEmpty, found == expected(slots) else { return false }
    return slots.allSatisfy { metadataState(of: $0, in: directory) == .same }
  }

  private func expected(_ slots: [Slot]) -> Set<Layout.KeyFile> {
    var files: Set<Layout.KeyFile> = []
    for slot in slots {
      files.insert(.metadata(slot.variant))
      if slot.hasBodyFile { files.insert(.body(slot.digest)) }
    }
    return files
  }

  /// Compares and repairs one key.
  ///
  /// - Throws: an error if files cannot be read now, or the journal cannot be written.
  private func reconcile(_ hash: KeyHash, _ entries: EntriesDirectory) throws(StoreError) {
    try tree.withShard(of: hash, in: entries) { shard throws(StoreError) in
      guard let directory = try tree.openKey(hash, in: shard) else { return }
      var found = try tree.files(in: directory)
      _ = try noteLostRecords(found, of: hash, in: directory)
      let isWhole = catalog.isIndexWhole
      if !isWhole {
        try takeUp(found, of: hash, in: directory, entries)
        for case .metadata(let variant) in found where try isLeftover(hash, variant, entries) {
          tree.discard(Layout.metadata(variant), in: directory.raw)
        }
        found = try tree.files(in: directory)
      }
      let slots = catalog.settledSlots(of: hash)
      let isPresent = try catalog.state.withLock { state throws(StoreError) in
        // Records that cannot be read now may name the files.
        try reader.check(state)
        return state.entries === entries
      }
      guard isPresent else { return }
      let hasMisplaced = try moveMisplaced(found, of: hash, in: directory, shard, isWhole: isWhole)
      if hasMisplaced { found = try tree.files(in: directory) }
      for slot in slots {
        // Without its only file, an entry may have been removed by a record that is lost.
        if slot.hasBodyFile || found.contains(.metadata(slot.variant)) || !hasLost(after: slot) {
          restoreMetadata(slot, in: directory, entries)
        }
      }
      if isWhole || !hasMisplaced {
        removeUnknown(found, but: expected(slots), in: directory, isWhole: isWhole)
      }
      if slots.isEmpty { tree.discardDirectory(Layout.key(hash), in: shard.directory.raw) }
    }
  }

  /// Removes files to which no entry refers, but no metadata file of another store or of a newer format, or
  /// that cannot be read now, and beside one no body: any may be its own.
  ///
  /// Nothing is removed if the journal is not whole and one of the files is a metadata file. That
  /// file is damaged, no crash explains it, and its body may be one of the others.
  private func removeUnknown(
    _ found: Set<Layout.KeyFile>, but known: Set<Layout.KeyFile>,
    in directory: borrowing Descriptor, isWhole: Bool
  ) {
    var (metadata, bodies): ([PathName], [PathName]) = ([], [])
    var hasForeign = false
    for file in found {
      switch file {
      case .metadata(let variant):
        let name = Layout.metadata(variant)
        let failure = tree.failure(of: name, in: directory)
        if failure == .foreign || failure == .unreadable {
          hasForeign = true
          // It may be of no entry, and then has to be looked at again.
          if failure == .unreadable, !known.contains(file) { tree.staging.noteUnclean() }
        } else if !known.contains(file) {
          metadata.append(name)
        }
      case .body(let digest): if !known.contains(file) { bodies.append(Layout.body(digest)) }
      case .foreign: break
      }
    }
    if !isWhole && !metadata.isEmpty { return }
    for name in hasForeign ? metadata : metadata + bodies { tree.discard(name, in: directory.raw) }
  }

  /// Sees to the bodies of all entries. If the index is built anew meanwhile, begins again.
  ///
  /// - Returns: false if the store was closed meanwhile.
  private func checkBodies(_ compared: inout ComparedShards) -> Bool {
    while true {
      var cursor = ShardCursor(in: catalog)
      for shard in 0..<Layout.shardCount
      where !cursor.isOutdated && (!cursor.isWhole || compared[shard] != .complete) {
        while let located = cursor.next(of: shard, in: catalog) {
          if upkeep.isStopping { return false }
          for place in located { checkBody(of: place, isWhole: cursor.isWhole) }
        }
        if cursor.isWhole, !cursor.isOutdated, compared[shard] == .equal {
          compared[shard] = .complete
        }
      }
      if !cursor.isOutdated { return true }
    }
  }

  /// Restores the body of an entry from its record. If that does not carry it and the body is missing,
  /// sets the entry aside, unless it may be missing for a moment only.
  private func checkBody(of located: Located, isWhole: Bool) {
    let slot = located.slot
    if slot.isUnsettled { return }
    if slot.carriesBody, isWhole || !hasLost(after: slot) {
      restore(located)
    } else if !tree.hasBody(located) {
      setAside(slot, butNot: isWhole ? .shard : .none)
    }
  }

  func hasLost(after slot: Slot) -> Bool {
    catalog.state.withLock { $0.journal.hasLost(after: slot) }
  }

  // MARK: Entries in the log

  /// Writes the files of an entry again whose record still carries the body, unless they are intact.
  private func restore(_ located: Located) {
    do throws(StoreError) { try settler.restore(located, sparesForeign: true) } catch {
      // The record still has the body. It is tried again when its segment is dropped.
      events.send(.notSettled(error))
    }
  }

  /// Completes the removals of all entries in which processes were killed: removes those in the log.
  ///
  /// - Throws: the first error. Without the sessions of these processes, nothing would show any more
  ///   what they have removed.
  package func completeRemovals(of dead: [PathName]) throws(StoreError) {
    var removal: UInt64?
    for session in dead {
      if let moved = try tree.staging.movedEntries(session) { removal = max(removal ?? 0, moved) }
    }
    guard let sequence = removal else { return }
    var failure: StoreError?
    catalog.forEachUnsettled { place in
      do throws(StoreError) {
        guard try isStored(place, notAfter: sequence) else { return }
        _ = try release(place.slot, place.entries)
      } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// Returns whether an entry in the log has this number or one before it. Of a damaged or missing
  /// record, nothing is known.
  ///
  /// - Throws: an error if the record cannot be read now.
  private func isStored(_ place: Located, notAfter sequence: UInt64) throws(StoreError) -> Bool {
    do throws(ReadFailure) { return try catalog.readRecord(place).sequence <= sequence } catch {
      guard error == .unreadable else { return false }
      throw .unreadable(journal.path(of: place.slot.segment))
    }
  }
}
