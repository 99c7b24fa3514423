internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// After a crash, or where the journal is damaged: tree and index are compared, one key at a time
// under the lock of its shard, while the store is used.
//
// - The journal is whole: it decides. Files that it does not know were never promised, or were
//   removed; they go. Entries whose files are lost go, too.
// - The journal is damaged: the tree decides. What it has is taken up; only then is the journal
//   written anew.
extension Store {
  /// Whether a process went away without closing the store. The caller holds the journal's lock.
  func hasDeadSessions() throws(StoreError) -> Bool {
    if isReadOnly { return false }
    return try !deadSessions().isEmpty
  }

  /// Puts the store right, and only then removes the signs that this has to be done.
  func reconcile() {
    guard let dead = try? withJournalLock({ () throws(StoreError) in try deadSessions() })
    else { return }
    for shard in 0..<Layout.shardCount {
      if upkeep.isStopping { return }
      reconcile(shard: shard)
    }
    guard checkBodies() else { return }
    let wasComplete = state.withLock { state in
      defer { state.isComplete = true }
      return state.isComplete && state.isJournalWhole
    }
    if !wasComplete { try? renewJournal() }
    state.withLock { state in
      if state.isJournalWhole { state.removals = nil }
      state.endedUncleanly = false
    }
    for name in dead {
      if upkeep.isStopping { return }
      guard let directory = try? fileSystem.open(name, in: place.staging, [.read, .directory]),
        (try? fileSystem.tryLock(directory)) == true
      else { continue }
      removeTree(directory, depth: 0)
      try? fileSystem.removeDirectory(name, in: place.staging.raw)
    }
  }

  private func reconcile(shard number: Int) {
    let (entries, isWhole) = state.withLock { ($0.entries, $0.isJournalWhole && $0.isComplete) }
    guard
      let shard = try? fileSystem.open(
        Layout.shard(number), in: entries.directory, [.read, .directory])
    else { return }
    for hash in keys(in: shard, number) {
      if upkeep.isStopping { return }
      if !isWhole || !isAsExpected(hash, Layout.key(hash), in: shard) { reconcile(hash, entries) }
    }
  }

  /// The keys that have a directory in a shard.
  private func keys(in shard: borrowing Descriptor, _ number: Int) -> [KeyHash] {
    let shardName = Layout.shard(number).bytes
    var hashes: [KeyHash] = []
    try? fileSystem.list(shard.raw) { name, kind in
      if kind == .directory, let hash = KeyHash(shardName: shardName, directoryName: name.bytes) {
        hashes.append(hash)
      }
      return true
    }
    return hashes
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
    let entries = state.withLock { $0.entries }
    for number in 0..<Layout.shardCount {
      guard
        let shard = try? fileSystem.open(
          Layout.shard(number), in: entries.directory, [.read, .directory])
      else { continue }
      for hash in keys(in: shard, number) {
        guard
          let directory = try? fileSystem.open(Layout.key(hash), in: shard, [.read, .directory])
        else { continue }
        for case .metadata(let variant) in files(in: directory) where locate(hash, variant) == nil {
          takeUp(hash, variant, entries)
        }
      }
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
    let found = files(in: directory)
    guard !slots.isEmpty, found == expected(slots) else { return false }
    return slots.allSatisfy { slot in
      guard
        let document = try? document(Layout.metadata(slot.variant), in: directory)
      else { return false }
      return document.entry.digest == slot.digest && document.entry.length == slot.length
    }
  }

  private func expected(_ slots: [Slot]) -> Set<Layout.KeyFile> {
    var files: Set<Layout.KeyFile> = []
    for slot in slots {
      files.insert(.metadata(slot.variant))
      files.insert(.body(slot.digest))
    }
    return files
  }

  private func files(in directory: borrowing Descriptor) -> Set<Layout.KeyFile> {
    var files: Set<Layout.KeyFile> = []
    try? fileSystem.list(directory.raw) { name, _ in
      let file = Layout.keyFile(name)
      if file != .foreign { files.insert(file) }
      return true
    }
    return files
  }

  /// Puts one key right.
  private func reconcile(_ hash: KeyHash, _ entries: EntriesDirectory) {
    guard let shard = try? lockShard(hash, entries) else { return }
    defer { shard.unlock() }
    guard
      let directory = try? fileSystem.open(
        Layout.key(hash), in: shard.directory, [.read, .directory])
    else { return }
    var slots = slots(of: hash)
    let found = files(in: directory)
    if !state.withLock({ $0.isJournalWhole && $0.isComplete }) {
      for case .metadata(let variant) in found {
        if let slot = slots.first(where: { $0.variant == variant }) {
          _ = takeUpNewer(slot, in: directory, entries)
        } else {
          takeUp(hash, variant, entries)
        }
      }
      slots = self.slots(of: hash)
    }
    guard state.withLock({ $0.entries === entries }) else { return }
    for slot in slots { restoreMetadata(slot, in: directory, entries) }
    for file in found.subtracting(expected(slots)) {
      switch file {
      case .metadata(let variant):
        try? fileSystem.removeFile(Layout.metadata(variant), in: directory.raw)
      case .body(let digest):
        try? fileSystem.removeFile(Layout.body(digest), in: directory.raw)
      case .foreign: break
      }
    }
    if slots.isEmpty {
      try? fileSystem.removeDirectory(Layout.key(hash), in: shard.directory.raw)
    }
  }

  /// Writes a metadata file again from the journal, where it is missing or says something else.
  private func restoreMetadata(
    _ slot: Slot, in directory: borrowing Descriptor, _ entries: EntriesDirectory
  ) {
    let name = Layout.metadata(slot.variant)
    let known = try? document(name, in: directory)
    if let known, known.entry.digest == slot.digest, known.entry.length == slot.length { return }
    let located = state.withLock { state in
      Located(slot: slot, segment: state.segment(slot.segment), entries: entries)
    }
    guard let record = try? readRecord(located), let session = try? ownSession() else { return }
    let draft = Draft(head: record.head, key: record.key, metadata: record.metadata)
    let new = session.unusedName()
    do {
      let file = try fileSystem.open(new, in: session.directory, [.write, .create, .exclusive])
      try fileSystem.write(file, draft.document(hashSeed: hashSeed))
      try fileSystem.rename(new, in: session.directory.raw, to: name, in: directory.raw)
    } catch {
      // The journal still has it; the checker will say that the file is missing.
      try? fileSystem.removeFile(new, in: session.directory.raw)
    }
  }

  /// Lets go of the entries whose bodies are not there.
  ///
  /// - Returns: false where the store was closed meanwhile.
  private func checkBodies() -> Bool {
    var cursor = SlotCursor()
    while let located = cursor.next(in: self) {
      if upkeep.isStopping { return false }
      for place in located where !hasBody(place) { setAside(place.slot) }
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
