internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Steps of a repair that the engine itself does not use.
extension Recovery {
  /// Returns the other entries that have the same body file as a slot according to their records.
  /// Their bytes were compared when the link was made.
  ///
  /// - Parameter most: the most entries that are returned.
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

  /// Sees to entries that may have been removed by a lost record, and that could be made again from other
  /// bytes. Called before a journal that is not whole is written anew: an entry without files that shares
  /// the body of another key gets a body file of its own.
  ///
  /// - Parameter isForecast: whether nothing is written.
  /// - Returns: false if an entry could be made again from its record. A new journal would no longer show
  ///   that it may have been removed.
  package func separateMissing(isForecast: Bool = false) throws(StoreError) -> Bool {
    var cursor = SlotCursor()
    while let located = cursor.next(in: catalog) {
      for place in located where !place.slot.isUnsettled {
        let slot = place.slot
        if slot.carriesBody, hasLost(after: slot), isAbsent(place) { return false }
        guard slot.hasBodyFile, catalog.sharesFile(slot) else { continue }
        let metadata = Layout.metadataPath(slot.keyHash, slot.variant)
        if isAbsent(place) {
          if !isForecast { _ = try recordAgain(slot, ownsBody: true) }
        } else if mayBeRemoved(slot),
          fileSystem.isMissing(metadata, in: place.entries.directory.raw)
        {
          return false
        }
      }
    }
    return true
  }

  /// Returns whether an entry without a metadata file may have been removed by a lost record: another
  /// variant has its body, too, so the tree has no file of this entry alone.
  package func mayBeRemoved(_ slot: Slot) -> Bool {
    slot.hasBodyFile && hasLost(after: slot)
      && catalog.settledSlots(of: slot.keyHash).contains {
        $0.variant != slot.variant && $0.hasBodyFile && $0.digest == slot.digest
      }
  }

  /// Returns whether both the metadata file and the body of an entry are missing.
  private func isAbsent(_ located: Located) -> Bool {
    let slot = located.slot
    let entries = located.entries.directory.raw
    return fileSystem.isMissing(Layout.metadataPath(slot.keyHash, slot.variant), in: entries)
      && fileSystem.isMissing(Layout.bodyPath(slot.keyHash, slot.digest), in: entries)
  }

  /// Appends the record of an entry again, with another size of its metadata file, or with a body
  /// file of its own. The caller holds the shard.
  ///
  /// - Returns: false if the entry has changed meanwhile, or its record cannot be read.
  package func recordAgain(
    _ slot: Slot, overhead: UInt32? = nil, ownsBody: Bool = false
  ) throws(StoreError) -> Bool {
    let entries = catalog.state.withLock { $0.entries }
    guard let located = catalog.locate(slot.keyHash, slot.variant),
      located.slot.isSameRecord(as: slot), !located.slot.isUnsettled,
      let (record, body) = try? catalog.readWithEmbedded(located)
    else { return false }
    // The new record does not carry the body of a file.
    if located.slot.carriesBody, body == nil { try settler.volumeSync.synchronize() }
    let placed = try writer.append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === entries, let number = state.number(of: slot) else { return [] }
      if let body {
        let accessed = state.index[number].accessed
        return [record.settled(with: body, accessed: accessed, overhead: overhead)]
      }
      var head = record.head
      head.accessed = Timestamp(nanoseconds: state.index[number].accessed)
      head.carriesBody = false
      head.bodyFile = UInt64(ownsBody ? .random(in: 1 ... .max) : slot.bodyFile)
      if let overhead { head.overhead = overhead }
      return [PutRecord(head: head, key: record.key, metadata: record.metadata).bytes]
    }
    return placed != nil
  }

  /// Removes the incomplete files of processes that were killed while they began a segment or wrote
  /// store.json.
  package func removeUnfinished() throws(StoreError) {
    try journal.withLock { () throws(StoreError) in
      try system("\(path)/journal/\(Layout.newSegment.text)") { () throws(SystemError) in
        try journal.freeNewName()
      }
      try system("\(path)/\(Layout.newDescription.text)") { () throws(SystemError) in
        try StrayQuarantine(fileSystem, tree.clock).free(
          Layout.newDescription, in: tree.place.root, of: [], to: tree.place.quarantine)
      }
    }
  }
}
