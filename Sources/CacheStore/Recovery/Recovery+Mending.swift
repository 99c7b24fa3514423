internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Steps of a repair that the engine itself does not take.
extension Recovery {
  /// The entries whose body is the same file as that of a slot, as their records say: their bytes were
  /// compared when the link was made.
  ///
  /// - Parameter most: how many of them are given.
  package func sharers(of slot: Slot, most: Int) -> [Slot] {
    catalog.state.withLock { state in
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

  /// Before a journal that is not whole is written anew: has entries of which no file is there share
  /// their body with no other any more. Nobody can tell whether they were removed or are away; they are
  /// not to be made again from the bodies of others.
  package func separateMissing() throws(StoreError) {
    if catalog.isJournalWhole { return }
    var cursor = SlotCursor()
    while let located = cursor.next(in: catalog) {
      for place in located where catalog.sharesFile(place.slot) && isAbsent(place) {
        _ = try recordAgain(place.slot, ownsBody: true)
      }
    }
  }

  /// Whether neither the metadata file nor the body of an entry is there.
  private func isAbsent(_ located: Located) -> Bool {
    let slot = located.slot
    return [
      Layout.metadataPath(slot.keyHash, slot.variant), Layout.bodyPath(slot.keyHash, slot.digest),
    ].allSatisfy { path in
      do throws(SystemError) {
        _ = try fileSystem.status(at: path, in: located.entries.directory.raw)
        return false
      } catch { return error == .notFound }
    }
  }

  /// Appends the record of an entry again, with other bytes counted for its metadata file, or with a
  /// body file of its own. The caller holds the shard.
  ///
  /// - Returns: false where the index has another one by now, or its record cannot be read.
  package func recordAgain(
    _ slot: Slot, overhead: UInt32? = nil, ownsBody: Bool = false
  ) throws(StoreError) -> Bool {
    let entries = catalog.state.withLock { $0.entries }
    guard let located = catalog.locate(slot.keyHash, slot.variant),
      located.slot.isSameRecord(as: slot),
      let record = try? catalog.readRecord(located)
    else { return false }
    let placed = try catalog.append { state throws(StoreError) -> [[UInt8]] in
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
    try catalog.journal.withLock { () throws(StoreError) in
      let torn = catalog.state.withLock { state in
        catalog.follow(&state)
        return state.journal.current == nil ? 0 : state.journal.tornBytes
      }
      if torn > 0 { _ = try catalog.writableSegment() }
    }
  }

  /// Removes what processes left that were killed while they began a segment or wrote store.json.
  package func removeUnfinished() throws(StoreError) {
    try catalog.journal.withLock { () throws(StoreError) in
      try system("\(path)/journal/\(Layout.newSegment.text)") { () throws(SystemError) in
        try catalog.journal.freeNewName()
      }
      try system("\(path)/\(Layout.newDescription.text)") { () throws(SystemError) in
        try StrayQuarantine(fileSystem, tree.clock).free(
          Layout.newDescription, in: tree.place.root, of: [], to: tree.place.quarantine)
      }
    }
  }
}
