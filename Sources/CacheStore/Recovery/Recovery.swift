internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// Puts a store right after a crash, or where its journal is damaged: compares tree and index, one key at
/// a time under the lock of its shard, while the store is used.
///
/// - The journal is whole: it decides. Files that it does not have were never promised, or were removed,
///   and are deleted. Entries whose bodies are lost are removed, unless their whole shard is missing,
///   which may be so for a moment only.
/// - The journal is damaged: the tree decides. What it has is appended to the journal; what it has not is
///   removed, since it may have been removed before. Only then is the journal written anew.
package final class Recovery: Sendable {
  let path: String
  let catalog: Catalog
  let tree: Tree
  let upkeep: Upkeep
  let events: EventHub

  init(_ catalog: Catalog, _ events: EventHub) {
    self.catalog = catalog
    self.events = events
    path = catalog.path
    tree = catalog.tree
    upkeep = catalog.upkeep
  }

  var fileSystem: any FileSystem { tree.fileSystem }

  /// Puts the store right, and only then removes the signs that this has to be done.
  func reconcile() {
    guard let dead = try? deadSessionsNow() else { return }
    // Files that were being written take room that no limit counts: they are removed first.
    for session in dead { tree.staging.removeFiles(ofSession: session) }
    for shard in 0..<Layout.shardCount {
      // What could not be looked at may be all that is left of an entry: the signs stay.
      if upkeep.isStopping || (try? reconcile(shard: shard)) == nil { return }
    }
    let hasMovedEntries = dead.contains { tree.staging.hasMovedEntries($0) }
    guard checkBodies(butNot: catalog.isIndexWhole && !hasMovedEntries ? .shard : .none)
    else { return }
    if !catalog.isIndexWhole { try? renewWhenTakenUp() }
    catalog.state.withLock { $0.endedUncleanly = false }
    removeSessions(dead)
  }

  /// Writes the journal anew after every entry of the tree was appended to it.
  private func renewWhenTakenUp() throws(StoreError) {
    catalog.state.withLock { state in
      state.isComplete = true
      state.confirmed = []
    }
    try catalog.renewJournal()
    catalog.state.withLock { state in
      // Nothing is taken from the tree any more.
      if state.journal.isWhole { state.removals = nil }
    }
  }

  /// For a checker: appends what the tree has to a journal that is not whole, then writes it anew.
  /// Nothing else changes.
  ///
  /// - Throws: also if something could not be looked at; the journal stays as it is then.
  package func takeUpAndRenew() throws(StoreError) {
    if catalog.isIndexWhole { return }
    catalog.beginJournal()
    for number in 0..<Layout.shardCount {
      try forEachKey(of: number) { hash, _, _ throws(StoreError) in try askTree(hash) }
    }
    try renewWhenTakenUp()
    if !catalog.isIndexWhole {
      throw StoreError(
        .inputOutput, path: "\(path)/journal", cause: "the journal could not be written anew",
        remedy: "check again when no other process compacts it")
    }
  }

  /// Writes the journal anew, so that it holds nothing of what was removed or replaced.
  ///
  /// - Throws: `readOnly`, `inputOutput` if the journal is damaged and cannot be written anew yet,
  ///   `noSpace`, `closed`.
  /// - Complexity: O(all entries).
  func purge() throws(StoreError) {
    if catalog.isReadOnly { throw .readOnly(path) }
    completeIndex()
    try catalog.purge()
  }

  /// The names below `staging` of processes that are gone.
  package func deadSessionsNow() throws(StoreError) -> [PathName] {
    try catalog.journal.withLock { () throws(StoreError) in try tree.staging.deadSessions() }
  }

  /// Removes the directories of processes that are gone, unless somebody holds them.
  package func removeSessions(_ names: [PathName]) {
    for name in names {
      if upkeep.isStopping { return }
      tree.staging.removeSession(name)
    }
  }

  /// Waits until the index has every entry.
  ///
  /// - Complexity: O(1), but if the journal was damaged or lost: O(all entries) once.
  func completeIndex() {
    guard catalog.state.withLock({ !$0.isComplete && !$0.isClosed }) else { return }
    if !catalog.isReadOnly {
      upkeep.request(.reconcile)
      upkeep.waitUntilIdle()
      return
    }
    for number in 0..<Layout.shardCount {
      try? forEachKey(of: number) { hash, _, _ throws(StoreError) in try? askTree(hash) }
    }
    catalog.state.withLock { $0.isComplete = true }
  }

  /// At closing: gives the comparison of tree and journal a second. If it needs no longer, programs that
  /// end at once leave no traces of one that was killed before them.
  func finishComparing() {
    let isDone = catalog.state.withLock { !$0.endedUncleanly && $0.isComplete }
    if catalog.isSupervised || isDone { return }
    upkeep.waitUntilIdle(nanoseconds: 1_000_000_000)
  }

  // MARK: Keys

  private func reconcile(shard number: Int) throws(StoreError) {
    try forEachKey(of: number) { hash, shard, entries throws(StoreError) in
      if upkeep.isStopping { throw .closed(path) }
      if !catalog.isIndexWhole || !isAsExpected(hash, Layout.key(hash), in: shard) {
        try reconcile(hash, entries)
      }
    }
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

  /// Tells whether a directory holds just the files that the index expects. No lock is held: if not, the
  /// caller looks again under the lock.
  private func isAsExpected(
    _ hash: KeyHash, _ name: PathName, in shard: borrowing Descriptor
  ) -> Bool {
    guard let directory = try? fileSystem.open(name, in: shard, [.read, .directory])
    else { return false }
    let slots = catalog.slots(of: hash)
    let found = try? tree.files(in: directory)
    guard !slots.isEmpty, found == expected(slots) else { return false }
    return slots.allSatisfy { metadataState(of: $0, in: directory) == .same }
  }

  private func expected(_ slots: [Slot]) -> Set<Layout.KeyFile> {
    var files: Set<Layout.KeyFile> = []
    for slot in slots {
      files.insert(.metadata(slot.variant))
      files.insert(.body(slot.digest))
    }
    return files
  }

  /// Puts one key right.
  ///
  /// - Throws: if the system cannot say what is there, or the journal cannot be written.
  private func reconcile(_ hash: KeyHash, _ entries: EntriesDirectory) throws(StoreError) {
    try tree.withShard(of: hash, in: entries) { shard throws(StoreError) in
      guard let directory = try tree.openKey(hash, in: shard) else { return }
      var found = try tree.files(in: directory)
      if catalog.isIndexWhole, let lost = lostSequence(found, of: hash, in: directory) {
        try catalog.noteLostRecords(through: lost)
      }
      let isWhole = catalog.isIndexWhole
      if !isWhole {
        try takeUp(found, of: hash, in: directory, entries)
        for case .metadata(let variant) in found where try isLeftover(hash, variant, entries) {
          try? fileSystem.removeFile(Layout.metadata(variant), in: directory.raw)
        }
        found = try tree.files(in: directory)
      }
      let slots = catalog.slots(of: hash)
      guard catalog.state.withLock({ $0.entries === entries }) else { return }
      for slot in slots { restoreMetadata(slot, in: directory, entries) }
      removeUnknown(found.subtracting(expected(slots)), in: directory, isWhole: isWhole)
      if slots.isEmpty {
        try? fileSystem.removeDirectory(Layout.key(hash), in: shard.directory.raw)
      }
    }
  }

  /// Removes files that no entry has.
  ///
  /// If the journal is not whole and there is a metadata file that could not be taken up, nothing is
  /// removed: that file is damaged, and the bodies may be those that it names.
  private func removeUnknown(
    _ files: Set<Layout.KeyFile>, in directory: borrowing Descriptor, isWhole: Bool
  ) {
    var bodies: [Digest] = []
    for case .body(let digest) in files { bodies.append(digest) }
    if !isWhole && bodies.count < files.count { return }
    for file in files {
      switch file {
      case .metadata(let variant):
        try? fileSystem.removeFile(Layout.metadata(variant), in: directory.raw)
      case .body(let digest):
        try? fileSystem.removeFile(Layout.body(digest), in: directory.raw)
      case .foreign: break
      }
    }
  }

  /// Sets aside the entries whose bodies are missing, except those that may be away for a moment.
  ///
  /// - Returns: false if the store was closed meanwhile.
  private func checkBodies(butNot away: Away) -> Bool {
    var cursor = SlotCursor()
    while let located = cursor.next(in: catalog) {
      if upkeep.isStopping { return false }
      for place in located where !tree.hasBody(place) {
        setAside(place.slot, butNot: away)
      }
    }
    return true
  }
}
