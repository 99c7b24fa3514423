public import CacheFormat
internal import CacheSystem
internal import Synchronization

extension Store {
  /// Removes the entry of a key, or with `variant` nil all its variants.
  ///
  /// - Returns: the number of entries that were there.
  /// - Throws: `readOnly`, `inputOutput`, `noSpace`, `closed`.
  /// - Durability: a removal that has returned survives what `durability` says.
  @discardableResult
  public func remove(_ key: ByteString, variant: UInt64? = nil) throws(StoreError) -> Int {
    let hash = hash(key)
    try askTree(hash, variant)
    var count = 0
    for slot in slots(of: hash) where variant == nil || slot.variant == variant {
      guard hasKey(slot, key) else { continue }
      if try remove(slot, .asked) { count += 1 }
    }
    if count == 0 { try syncJournal() }
    tendJournal()
    return count
  }

  /// For a removal that found nothing: what said so, an eviction perhaps, may not be on disk yet, and
  /// the entry would be there again after a power cut.
  private func syncJournal() throws(StoreError) {
    if isReadOnly { return }
    let end = state.withLock { state in
      state.journal.current.map { AppendedPlace(segment: $0, end: state.journal.position) }
    }
    if let end { try sync(end) }
  }

  /// Removes all entries whose key begins with `prefix`.
  ///
  /// - Returns: the number of entries removed.
  /// - Complexity: O(all entries): each key is read.
  @discardableResult
  public func remove(prefix: ByteString) throws(StoreError) -> Int {
    try removeAll(.asked) { $0.key.hasPrefix(prefix) }
  }

  /// Removes all entries that carry a tag.
  ///
  /// - Returns: the number of entries removed.
  /// - Complexity: O(all entries): the tags of each are read.
  @discardableResult
  public func remove(tag: ByteString) throws(StoreError) -> Int {
    try removeAll(.asked) { $0.tags.contains(tag) }
  }

  /// Removes all entries that were stored before a moment, but pinned ones.
  ///
  /// - Returns: the number of entries removed.
  /// - Complexity: O(all entries); the records of those that are old enough are read.
  @discardableResult
  public func remove(createdBefore moment: Timestamp) throws(StoreError) -> Int {
    let second = moment.nanoseconds / 1_000_000_000
    return try removeAll(.age, among: { !$0.isPinned && Int64($0.createdSeconds) <= second }) {
      $0.created < moment
    }
  }

  private func removeAll(
    _ reason: RemovalReason, among candidates: (Slot) -> Bool = { _ in true },
    where matches: (EntryInfo) -> Bool
  ) throws(StoreError) -> Int {
    if isReadOnly { throw .readOnly(path) }
    completeIndex()
    if !state.withLock({ $0.isComplete }) {
      throw StoreError(
        .inputOutput, path: "\(path)/entries",
        cause: "the journal is damaged, and not every entry can be read for now",
        remedy: "check the permissions and the disk, then try again")
    }
    var count = 0
    var cursor = SlotCursor()
    while let located = cursor.next(in: self) {
      for place in located where candidates(place.slot) {
        guard let record = try? readRecord(place), matches(place.info(record))
        else { continue }
        if try remove(place.slot, reason) { count += 1 }
      }
    }
    if count == 0 && reason == .asked { try syncJournal() }
    tendJournal()
    return count
  }

  /// Removes everything, pinned entries too.
  ///
  /// The files are moved away at once and deleted in the background.
  ///
  /// - Throws: `readOnly`, `inputOutput`, `noSpace`, `closed`.
  public func removeAll() throws(StoreError) {
    if isReadOnly { throw .readOnly(path) }
    let session = try ownSession()
    let away = session.unusedName()
    let placed = try journal.withLock { () throws(StoreError) -> AppendedPlace? in
      do throws(StoreError) {
        try moveEntries(to: away, of: session)
        return try appendLocked { state throws(StoreError) -> [[UInt8]] in
          [ClearRecord.bytes] + (state.limits == .none ? [] : [state.limits.record.bytes])
        }
      } catch {
        moveEntriesBack(from: away, of: session)
        throw error
      }
    }
    if let placed { try sync(placed) }
    eventHub.send(.removed(.asked))
    upkeep.request([.sweep, .compact], of: self)
  }

  /// Moves the `entries` directory into staging and makes a new one. Whoever has the old one open
  /// goes on with it until the journal says that all is gone.
  private func moveEntries(to name: PathName, of session: Session) throws(StoreError) {
    try system("\(path)/entries") { () throws(SystemError) in
      try fileSystem.rename(
        Layout.entries, in: place.root.raw, to: name, in: session.directory.raw)
      try fileSystem.makeDirectory(
        Layout.entries, in: place.root.raw, mode: StorePlace.directoryMode)
      if durability == .full { try fileSystem.synchronize(place.root, names: true) }
    }
  }

  /// Undoes `moveEntries` where the journal could not be told.
  private func moveEntriesBack(from name: PathName, of session: Session) {
    guard (try? fileSystem.status(at: name, in: session.directory.raw)) != nil else { return }
    try? fileSystem.removeDirectory(Layout.entries, in: place.root.raw)
    try? fileSystem.rename(
      name, in: session.directory.raw, to: Layout.entries, in: place.root.raw)
  }

  /// The slots of all variants of a key hash.
  package func slots(of hash: KeyHash) -> [Slot] {
    state.withLock { state in
      follow(&state)
      return state.index.variants(of: hash).map { state.index[$0] }
    }
  }

  private func hasKey(_ slot: Slot, _ key: ByteString) -> Bool {
    guard let located = locate(slot.keyHash, slot.variant) else { return false }
    // What cannot be read any more may be removed by its hash.
    guard let record = try? readRecord(located) else { return true }
    return record.hasKey(key)
  }

  /// Removes one entry if it is still the same.
  ///
  /// The record comes first: from then on nobody finds the entry, and files that a crash leaves are
  /// orphans, not damage.
  ///
  /// - Returns: whether it was removed.
  func remove(_ slot: Slot, _ reason: RemovalReason) throws(StoreError) -> Bool {
    if isReadOnly { throw .readOnly(path) }
    _ = try ownSession()
    for _ in 0..<Self.maximumAttempts {
      let shard = try lockShard(slot.keyHash)
      // The event comes after the shard is free again.
      var isRemoved = false
      defer {
        shard.unlock()
        if isRemoved { eventHub.send(.removed(reason), bytes: slot.length) }
      }
      var isStale = false
      var others: [Slot] = []
      var gone = slot
      let placed = try append { state throws(StoreError) -> [[UInt8]] in
        isStale = state.entries !== shard.entries
        guard !isStale, let number = state.index.find(slot.keyHash, slot.variant),
          reason == .asked || isVictim(state.index[number], slot)
        else { return [] }
        gone = state.index[number]
        others = state.index.variants(of: slot.keyHash).map { state.index[$0] }
          .filter { $0.variant != slot.variant }
        return [
          RemoveRecord(keyHash: slot.keyHash, variant: slot.variant, reason: reason).bytes
        ]
      }
      if isStale { continue }
      guard let placed else { return false }
      // What a limit evicts may be there again after a power cut; what was asked for may not.
      if reason == .asked { try sync(placed) }
      removeFiles(of: gone, others, in: shard)
      isRemoved = true
      return true
    }
    return false
  }

  /// Whether an entry may be removed by a limit or as damaged: nobody has touched or pinned it since
  /// it was chosen.
  private func isVictim(_ now: Slot, _ chosen: Slot) -> Bool {
    now.isSameRecord(as: chosen) && !now.isPinned && now.accessed == chosen.accessed
  }

  /// Removes the files of an entry that the journal no longer has. What cannot be removed is an
  /// orphan that the upkeep will find.
  private func removeFiles(of slot: Slot, _ others: [Slot], in shard: borrowing Shard) {
    let name = Layout.key(slot.keyHash)
    do throws(SystemError) {
      let directory = try fileSystem.open(name, in: shard.directory, [.read, .directory])
      discard(Layout.metadata(slot.variant), in: directory.raw)
      if !others.contains(where: { $0.digest == slot.digest }) {
        discard(Layout.body(slot.digest), in: directory.raw)
      }
    } catch { return noteLeftover(error) }
    if others.isEmpty { discardDirectory(name, in: shard.directory.raw) }
  }
}
