package import CacheFormat
internal import CacheSystem
internal import Synchronization

// Steps of a repair that the engine itself does not take.
extension Store {
  /// The entries whose body is the same file as that of a slot, as their records say: their bytes were
  /// compared when the link was made.
  ///
  /// - Parameter most: how many of them are given.
  package func sharers(of slot: Slot, most: Int) -> [Slot] {
    state.withLock { state in
      guard let number = state.index.find(slot.keyHash, slot.variant) else { return [] }
      var found: [Slot] = []
      var next = state.index[number].next
      while next != number, found.count < most {
        found.append(state.index[next])
        next = state.index[next].next
      }
      return found
    }
  }

  /// Appends the record of an entry again, with other bytes counted for its metadata file, or with a
  /// body file of its own. The caller holds the shard.
  ///
  /// - Returns: false where the index has another one by now, or its record cannot be read.
  package func recordAgain(
    _ slot: Slot, overhead: UInt32? = nil, ownsBody: Bool = false
  ) throws(StoreError) -> Bool {
    let entries = state.withLock { $0.entries }
    guard let located = locate(slot.keyHash, slot.variant), located.slot.isSameRecord(as: slot),
      let record = try? readRecord(located)
    else { return false }
    let placed = try append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === entries,
        let number = state.index.find(slot.keyHash, slot.variant),
        state.index[number].isSameRecord(as: slot)
      else { return [] }
      var head = record.head
      head.accessed = Timestamp(nanoseconds: state.index[number].accessed)
      head.bodyFile = UInt64(ownsBody ? .random(in: 1 ... .max) : slot.bodyFile)
      if let overhead { head.overhead = overhead }
      return [PutRecord(head: head, key: record.key, metadata: record.metadata).bytes]
    }
    return placed != nil
  }

  /// Cuts off what stands behind the last whole record.
  package func cutTornTail() throws(StoreError) {
    try withJournalLock { () throws(StoreError) in
      let (current, position, torn) = state.withLock { state in
        follow(&state)
        return (state.current, state.position, state.tornBytes)
      }
      if let current, torn > 0 { try cutTail(of: current, at: position) }
    }
  }

  /// Removes what processes left that were killed while they began a segment or wrote store.json.
  package func removeUnfinished() throws(StoreError) {
    try withJournalLock { () throws(StoreError) in
      try removeUnfinished(Layout.newSegment, in: place.journal)
      try removeUnfinished(Layout.newDescription, in: place.root)
    }
  }

  private func removeUnfinished(
    _ name: PathName, in directory: borrowing Descriptor
  ) throws(StoreError) {
    let raw = directory.raw
    try system("\(path)/\(name.text)") { () throws(SystemError) in
      do throws(SystemError) {
        try fileSystem.removeFile(name, in: raw)
      } catch  where error == .notFound {}
    }
  }

  /// Locks the shard of a key, made where it is missing, unless somebody holds it.
  package func tryLockShard(
    _ hash: KeyHash, _ entries: EntriesDirectory
  ) throws(StoreError) -> Shard? {
    let name = Layout.shard(Layout.shardNumber(of: hash))
    return try system("\(path)/entries/\(name.text)") { () throws(SystemError) in
      let directory = try openOrMake(name, in: entries.directory)
      guard try fileSystem.tryLock(directory) else { return nil }
      return Shard(directory: directory, entries: entries, fileSystem: fileSystem)
    }
  }

  /// Whether a segment is one of the journal as it is now.
  package func hasSegment(_ number: UInt32) -> Bool {
    state.withLock { $0.segment(number) != nil }
  }
}
