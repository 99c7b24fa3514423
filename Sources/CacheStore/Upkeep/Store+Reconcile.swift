package import CacheFormat
package import CacheSystem
internal import Synchronization

// After a crash, or where the journal is damaged: tree and index are compared, one key at a time
// under the lock of its shard, while the store is used.
//
// - The journal is whole: it decides. Files that it does not know were never promised, or were
//   removed; they go. Entries whose bodies are lost go, too, unless their whole shard is missing: that
//   may be away for a moment only.
// - The journal is damaged: the tree decides. What it has is taken up, what it has not goes, since it
//   may have been removed; only then is the journal written anew.
extension Store {
  /// Whether a process went away without closing the store. The caller holds the journal's lock.
  func hasDeadSessions() throws(StoreError) -> Bool {
    if isReadOnly { return false }
    return try !deadSessions().isEmpty
  }

  /// Puts the store right, and only then removes the signs that this has to be done.
  func reconcile() {
    guard let dead = try? deadSessionsNow() else { return }
    // What was about to be stored takes room that no limit counts: it goes first.
    dead.forEach(removeFiles)
    for shard in 0..<Layout.shardCount {
      // What could not be looked at may be all that is left of an entry: the signs stay.
      if upkeep.isStopping || (try? reconcile(shard: shard)) == nil { return }
    }
    guard
      checkBodies(
        butNot: isIndexWhole && !dead.contains { hasMovedEntries($0) } ? .shard : .none)
    else { return }
    if !isIndexWhole { try? renewWhenTakenUp() }
    state.withLock { $0.endedUncleanly = false }
    removeSessions(dead)
  }

  /// Removes the files in the directory of a process that is gone. The directory stays: it is the sign
  /// that tree and journal have to be compared.
  private func removeFiles(ofSession session: PathName) {
    guard let directory = try? fileSystem.open(session, in: place.staging, [.read, .directory]),
      (try? fileSystem.tryLock(directory)) == true
    else { return }
    defer { fileSystem.unlock(directory.raw) }
    var names: [PathName] = []
    try? fileSystem.list(directory.raw) { name, kind in
      if kind != .directory { names.append(name) }
      return true
    }
    for name in names { try? fileSystem.removeFile(name, in: directory.raw) }
  }

  /// Whether a process was killed while it removed all entries, which it had moved to its session.
  private func hasMovedEntries(_ session: PathName) -> Bool {
    var found = false
    guard let directory = try? fileSystem.open(session, in: place.staging, [.read, .directory])
    else { return false }
    try? fileSystem.list(directory.raw) { _, kind in
      if kind == .directory { found = true }
      return !found
    }
    return found
  }

  /// Whether the index has every entry, and the journal says so.
  private var isIndexWhole: Bool { state.withLock { $0.isComplete && $0.journal.isWhole } }

  /// Writes the journal anew after every entry of the tree was taken up.
  private func renewWhenTakenUp() throws(StoreError) {
    state.withLock { state in
      state.isComplete = true
      state.confirmed = []
    }
    try renewJournal()
    state.withLock { state in
      // Nothing is taken up from the tree any more.
      if state.journal.isWhole { state.removals = nil }
    }
  }

  /// For a checker: takes up what the tree has, then writes a journal anew that is not whole. Nothing
  /// else changes.
  ///
  /// - Throws: also where something could not be looked at; the journal stays as it is then.
  package func takeUpAndRenew() throws(StoreError) {
    if isIndexWhole { return }
    beginJournal()
    for number in 0..<Layout.shardCount {
      try forEachKey(of: number) { hash, _, _ throws(StoreError) in try askTree(hash) }
    }
    try renewWhenTakenUp()
    if !isIndexWhole {
      throw StoreError(
        .inputOutput, path: "\(path)/journal", cause: "the journal could not be written anew",
        remedy: "check again when no other process compacts it")
    }
  }

  /// The names below `staging` of processes that are gone.
  package func deadSessionsNow() throws(StoreError) -> [PathName] {
    try journal.withLock { () throws(StoreError) in try deadSessions() }
  }

  /// Removes the directories of processes that are gone, as far as nobody holds them.
  package func removeSessions(_ names: [PathName]) {
    for name in names {
      if upkeep.isStopping { return }
      guard let directory = try? fileSystem.open(name, in: place.staging, [.read, .directory]),
        (try? fileSystem.tryLock(directory)) == true
      else { continue }
      removeTree(directory, depth: 0)
      try? fileSystem.removeDirectory(name, in: place.staging.raw)
    }
  }

  private func reconcile(shard number: Int) throws(StoreError) {
    try forEachKey(of: number) { hash, shard, entries throws(StoreError) in
      if upkeep.isStopping { throw .closed(path) }
      if !isIndexWhole || !isAsExpected(hash, Layout.key(hash), in: shard) {
        try reconcile(hash, entries)
      }
    }
  }

  /// Calls `body` with each key that has a directory in a shard.
  private func forEachKey(
    of number: Int,
    _ body: (KeyHash, borrowing Descriptor, EntriesDirectory) throws(StoreError) -> Void
  ) throws(StoreError) {
    let entries = state.withLock { $0.entries }
    let shard: Descriptor
    do throws(SystemError) {
      shard = try fileSystem.open(
        Layout.shard(number), in: entries.directory, [.read, .directory])
    } catch {
      if error == .notFound || error.isWrongKind { return }
      throw StoreError(error, path: "\(path)/entries/\(Layout.shard(number).text)")
    }
    for hash in try keys(in: shard, number) { try body(hash, shard, entries) }
  }

  /// The keys that have a directory in a shard.
  private func keys(
    in shard: borrowing Descriptor, _ number: Int
  ) throws(StoreError) -> [KeyHash] {
    let shardName = Layout.shard(number).bytes
    var hashes: [KeyHash] = []
    let raw = shard.raw
    try system("\(path)/entries/\(Layout.shard(number).text)") { () throws(SystemError) in
      try fileSystem.list(raw) { name, kind in
        if kind == .directory, let hash = KeyHash(shardName: shardName, directoryName: name.bytes) {
          hashes.append(hash)
        }
        return true
      }
    }
    return hashes
  }

  /// Opens the directory of a key; nil where there is none.
  package func openKey(
    _ hash: KeyHash, in shard: borrowing Shard
  ) throws(StoreError) -> Descriptor? {
    try openKey(hash, at: Layout.key(hash), in: shard.directory)
  }

  /// For what has to see every entry: waits until the index knows them all.
  ///
  /// - Complexity: O(1), but where the journal was damaged or lost: O(all entries) once.
  func completeIndex() {
    guard state.withLock({ !$0.isComplete && !$0.isClosed }) else { return }
    if !isReadOnly {
      upkeep.request(.reconcile, of: self)
      upkeep.waitUntilIdle()
      return
    }
    for number in 0..<Layout.shardCount {
      try? forEachKey(of: number) { hash, _, _ throws(StoreError) in try? askTree(hash) }
    }
    state.withLock { $0.isComplete = true }
  }

  /// Whether a directory holds just the files that the index expects. No lock is held: what looks
  /// wrong is looked at again under it.
  private func isAsExpected(
    _ hash: KeyHash, _ name: PathName, in shard: borrowing Descriptor
  ) -> Bool {
    guard let directory = try? fileSystem.open(name, in: shard, [.read, .directory])
    else { return false }
    let slots = slots(of: hash)
    let found = try? files(in: directory)
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

  func files(
    in directory: borrowing Descriptor
  ) throws(StoreError) -> Set<Layout.KeyFile> {
    var files: Set<Layout.KeyFile> = []
    let raw = directory.raw
    try system("\(path)/entries") { () throws(SystemError) in
      try fileSystem.list(raw) { name, _ in
        let file = Layout.keyFile(name)
        if file != .foreign { files.insert(file) }
        return true
      }
    }
    return files
  }

  /// Puts one key right.
  ///
  /// - Throws: where the system cannot say what is there, or the journal cannot be written.
  private func reconcile(_ hash: KeyHash, _ entries: EntriesDirectory) throws(StoreError) {
    let shard = try lockShard(hash, entries)
    defer { shard.unlock() }
    guard let directory = try openKey(hash, in: shard) else { return }
    var found = try files(in: directory)
    if isIndexWhole, let lost = lostSequence(found, of: hash, in: directory) {
      try noteLostRecords(through: lost)
    }
    let isWhole = isIndexWhole
    if !isWhole {
      try takeUp(found, of: hash, in: directory, entries)
      for case .metadata(let variant) in found where try isLeftover(hash, variant, entries) {
        try? fileSystem.removeFile(Layout.metadata(variant), in: directory.raw)
      }
      found = try files(in: directory)
    }
    let slots = slots(of: hash)
    guard state.withLock({ $0.entries === entries }) else { return }
    for slot in slots { restoreMetadata(slot, in: directory, entries) }
    removeUnknown(found.subtracting(expected(slots)), in: directory, isWhole: isWhole)
    if slots.isEmpty {
      try? fileSystem.removeDirectory(Layout.key(hash), in: shard.directory.raw)
    }
  }

  /// Removes files that no entry has.
  ///
  /// Where the journal is not whole and there is a metadata file that could not be taken up, nothing
  /// goes: it was damaged, and the bodies may be those that it names.
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

  /// Lets go of the entries whose bodies are not there, though something of theirs is.
  ///
  /// - Returns: false where the store was closed meanwhile.
  private func checkBodies(butNot away: Away) -> Bool {
    var cursor = SlotCursor()
    while let located = cursor.next(in: self) {
      if upkeep.isStopping { return false }
      for place in located where !hasBody(place) {
        setAside(place.slot, butNot: away)
      }
    }
    return true
  }

  func hasBody(_ located: Located) -> Bool {
    let path = Layout.bodyPath(located.slot.keyHash, located.slot.digest)
    do throws(SystemError) {
      let file = try fileSystem.open(path, in: located.entries.directory, [.read])
      let status = try fileSystem.status(of: file.raw)
      return status.kind == .file && status.length == located.slot.length
    } catch {
      // What the system cannot say for now is no reason to give up an entry.
      return !(error == .notFound || error.isWrongKind)
    }
  }
}
