public import CacheFormat
internal import CacheSystem
internal import Synchronization

extension Store {
  /// Removes one variant of a key, or all variants if `variant` is `nil`.
  ///
  /// - Returns: the number of entries removed.
  /// - Throws: `readOnly`, `inputOutput`, `noSpace`, `closed`.
  /// - Durability: that of the store, once it has returned.
  @discardableResult
  public func remove(_ key: ByteString, variant: UInt64? = nil) throws(StoreError) -> Int {
    let hash = catalog.hash(key)
    try reader.checkReadable()
    try recovery.askTree(hash, variant)
    var count = 0
    for slot in catalog.slots(of: hash) where variant == nil || slot.variant == variant {
      guard hasKey(slot, key) else { continue }
      if try evictor.remove(slot, .asked) { count += 1 }
    }
    if count == 0 { try syncJournal() }
    compactor.tendJournal()
    return count
  }

  /// Syncs the journal after a removal that found no entry. The record that removed it earlier, an
  /// eviction perhaps, may not be on disk yet, and the entry would be there again after a power
  /// cut.
  private func syncJournal() throws(StoreError) {
    if isReadOnly { return }
    if let end = catalog.state.withLock({ $0.journal.end }) { try compactor.sync(end) }
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

  /// Removes all entries that were stored before a moment, except pinned ones.
  ///
  /// - Returns: the number of entries removed.
  /// - Complexity: O(all entries). The records of those that may be old enough are read.
  @discardableResult
  public func remove(createdBefore moment: Timestamp) throws(StoreError) -> Int {
    try remove(createdBefore: moment, while: { true })
  }

  /// Does the same as ``remove(createdBefore:)``, but ends when `goesOn` returns false.
  package func remove(
    createdBefore moment: Timestamp, while goesOn: () -> Bool
  ) throws(StoreError) -> Int {
    let second = moment.nanoseconds / 1_000_000_000
    return try removeAll(
      .age, among: { !$0.isPinned && Int64($0.createdSeconds) <= second }, while: goesOn
    ) { $0.created < moment }
  }

  /// Removes all entries that match; ends when `goesOn` returns false.
  ///
  /// - Returns: the number of entries removed.
  package func remove(
    while goesOn: () -> Bool, where matches: (EntryInfo) -> Bool
  ) throws(StoreError) -> Int {
    try removeAll(.asked, while: goesOn, where: matches)
  }

  private func removeAll(
    _ reason: RemovalReason, among candidates: (Slot) -> Bool = { _ in true },
    while goesOn: () -> Bool = { true }, where matches: (EntryInfo) -> Bool
  ) throws(StoreError) -> Int {
    if isReadOnly { throw .readOnly(path) }
    try reader.checkReadable()
    recovery.completeIndex()
    if !catalog.state.withLock({ $0.isComplete }) {
      throw StoreError(
        .inputOutput, path: "\(path)/entries",
        cause: "the journal is damaged, and not every entry can be read for now",
        remedy: "check the permissions and the disk, then try again")
    }
    defer { compactor.tendJournal() }
    var count = 0
    // One that cannot be read keeps no other.
    var failure: StoreError?
    var cursor = SlotCursor()
    search: while let located = cursor.next(in: catalog) {
      for place in located where candidates(place.slot) {
        guard goesOn() else { break search }
        do throws(StoreError) {
          if try remove(place, reason, where: matches) { count += 1 }
        } catch  where error.mayBeOfOneEntry { failure = error }
      }
    }
    if let failure { throw failure }
    if count == 0 && reason == .asked { try syncJournal() }
    return count
  }

  /// Removes an entry that matches, also if it is changed meanwhile, but not one that replaces it and
  /// does not match.
  private func remove(
    _ place: Located, _ reason: RemovalReason, where matches: (EntryInfo) -> Bool
  ) throws(StoreError) -> Bool {
    var place = place
    for _ in 0..<Self.maximumAttempts {
      let record: PutRecord
      do throws(ReadFailure) { record = try catalog.readRecord(place) } catch {
        guard error == .unreadable, catalog.isCurrent(place) else { return false }
        throw .unreadable(catalog.journal.path(of: place.slot.segment))
      }
      if !matches(place.info(record)) { return false }
      if try evictor.remove(place.slot, reason, exactly: true) { return true }
      guard let now = catalog.locate(place.slot.keyHash, place.slot.variant),
        !now.slot.isSameRecord(as: place.slot)
      else { return false }
      place = now
    }
    if reason == .asked { throw .contended(path) }
    return false
  }

  /// Removes all entries, also pinned ones.
  ///
  /// The files are moved away at once and deleted in the background.
  ///
  /// - Throws: `readOnly`, `inputOutput`, `noSpace`, `closed`.
  public func removeAll() throws(StoreError) {
    if isReadOnly { throw .readOnly(path) }
    // The new directory and the record need room.
    try evictor.withRoom { () throws(StoreError) in try moveAllAway() }
    events.send(.removed(.asked))
    upkeep.request(.sweep)
    upkeep.request(.compact)
  }

  private func moveAllAway() throws(StoreError) {
    let session = try catalog.writer.ownSession()
    let placed = try catalog.journal.withLock { () throws(StoreError) in
      try catalog.writer.clearLocked(movingTo: session)
    }
    if let placed { try compactor.sync(placed) }
  }

  private func hasKey(_ slot: Slot, _ key: ByteString) -> Bool {
    guard let located = catalog.locate(slot.keyHash, slot.variant) else { return false }
    // An entry that cannot be read is removed by the hash of its key.
    guard let record = try? catalog.readRecord(located) else { return true }
    return record.hasKey(key)
  }
}
