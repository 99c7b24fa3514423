package import CacheFormat
package import CacheSystem
internal import Synchronization

// Recovering entries from the metadata files of the tree, while the journal is not whole.
extension Recovery {
  /// Recovers the entries of a key that the index does not have, or has in an older version, from
  /// the tree. Does nothing if the index is complete, and tree and journal have been compared.
  ///
  /// Before that the key is compared. If records are lost, a change of it must not get one of their
  /// numbers, or the files would count as newer than the change.
  ///
  /// - Parameter variant: the variant to recover; `nil` for all variants.
  /// - Throws: an error if files cannot be read now, or the journal cannot be written.
  func askTree(_ hash: KeyHash, _ variant: UInt64? = nil) throws(StoreError) {
    let (entries, isComplete) = catalog.state.withLock { state in
      let isCompared = state.isComplete && (!state.endedUncleanly || catalog.isReadOnly)
      return (isCompared || state.isClosed ? nil : state.entries, state.isComplete)
    }
    guard let entries else { return }
    if catalog.isReadOnly { return try askTree(hash, variant, entries) }
    do throws(StoreError) {
      try tree.withShard(of: hash, in: entries) { shard throws(StoreError) in
        if isComplete {
          guard let directory = try tree.openKey(hash, in: shard),
            try noteLostRecords(try tree.files(in: directory), of: hash, in: directory)
          else { return }
          upkeep.request(.reconcile)
        }
        try askTree(hash, variant, entries)
      }
    } catch {
      if !catalog.isRemoval(error, of: entries) { throw error }
      try askTree(hash, variant)
    }
  }

  /// Makes the journal count as damaged if the metadata files of a key prove that it has lost records.
  /// The caller holds the shard.
  ///
  /// - Returns: whether it has; false if it was not whole before.
  package func noteLostRecords(
    _ found: Set<Layout.KeyFile>, of hash: KeyHash, in directory: borrowing Descriptor
  ) throws(StoreError) -> Bool {
    guard catalog.isIndexWhole, let lost = try lostSequence(found, of: hash, in: directory)
    else { return false }
    try writer.noteLostRecords(through: lost)
    return true
  }

  /// The place of an entry, or the reason for which there is none.
  enum Place {
    case entry(Located)
    case miss(MissReason)
  }

  /// Returns the place of an entry. If the index may lack it, or may have an older version, it is
  /// first recovered from the tree. This does not count as an access.
  func locate(_ hash: KeyHash, _ variant: UInt64) -> Place {
    let (place, isCertain) = indexedPlace(hash, variant, hasAsked: false)
    if isCertain || (try? askTree(hash, variant)) == nil { return place }
    return indexedPlace(hash, variant, hasAsked: true).place
  }

  private func indexedPlace(
    _ hash: KeyHash, _ variant: UInt64, hasAsked: Bool
  ) -> (place: Place, isCertain: Bool) {
    reader.withCurrentState { state in
      switch state.presence(hash, variant, hasAsked: hasAsked) {
      case .present(let number): (.entry(state.located(state.index[number])), true)
      case .absent: (.miss(.absent), true)
      case .closed: (.miss(.closed), true)
      case .uncertain(let isKnown): (.miss(isKnown ? .damaged : .absent), false)
      }
    }
  }

  private func askTree(
    _ hash: KeyHash, _ variant: UInt64?, _ entries: EntriesDirectory
  ) throws(StoreError) {
    var found: Set<Layout.KeyFile> = []
    if let directory = try tree.openKey(hash, at: Layout.keyPath(hash), in: entries.directory) {
      found = try tree.files(in: directory)
      if let variant { found.formIntersection([.metadata(variant)]) }
      try takeUp(found, of: hash, in: directory, entries)
    }
    try catalog.state.withLock { state throws(StoreError) in
      if state.isComplete { return }
      // The record of a removal of all entries may be among those that cannot be read.
      if reader.hasMovedEntries(state) { try reader.check(state) }
      for number in state.index.variants(of: hash) {
        let slot = state.index[number]
        if slot.isUnsettled || variant ?? slot.variant != slot.variant { continue }
        // An entry without its file may have been removed by a record that is lost.
        if found.contains(.metadata(slot.variant)) || !state.journal.hasLost(after: slot) {
          state.journal.confirmed.insert(slot.recordPlace)
        } else {
          state.journal.confirmed.remove(slot.recordPlace)
        }
      }
    }
  }

  /// Recovers the entries of a key that the journal does not have, or has in an older version, from
  /// the tree. The caller holds the shard, unless the store is read-only.
  ///
  /// - Throws: an error if files cannot be read now, or the journal cannot be written.
  func takeUp(
    _ found: Set<Layout.KeyFile>, of hash: KeyHash, in directory: borrowing Descriptor,
    _ entries: EntriesDirectory
  ) throws(StoreError) {
    let slots = catalog.slots(of: hash)
    for case .metadata(let variant) in found {
      if let slot = slots.first(where: { $0.variant == variant }) {
        _ = try takeUpNewer(slot, in: directory, entries)
      } else {
        try takeUp(hash, variant, entries)
      }
    }
  }

  /// Recovers one entry from the tree: appends its record to the journal, or adds it to the index
  /// of a read-only store. The caller holds the shard, unless the store is read-only.
  ///
  /// - Parameter old: the entry of the index that it may replace.
  /// - Returns: whether the index has it now; false if its files are missing or damaged, or if it
  ///   was removed.
  /// - Throws: an error if files cannot be read now, or the journal cannot be written.
  @discardableResult
  package func takeUp(
    _ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory, replacing old: Slot? = nil
  ) throws(StoreError) -> Bool {
    guard let document = try tree.wholeDocument(hash, variant, entries),
      old != nil || !isRemoved(document, hash)
    else { return false }
    return try takeUp(document, hash, entries, replacing: old, isElsewhere: false)
  }

  /// Does the same for an entry whose body is in its place.
  ///
  /// - Parameter isElsewhere: whether the metadata file was found at another place. It may come from a copy
  ///   of the store, so its number does not show that a whole journal has lost records.
  package func takeUp(
    _ document: MetadataDocument, _ hash: KeyHash, _ entries: EntriesDirectory,
    replacing old: Slot?, isElsewhere: Bool
  ) throws(StoreError) -> Bool {
    guard let file = try tree.bodyFile(hash, document, entries) else { return false }
    let isSameFile =
      old.map { $0.hasBodyFile && $0.digest == document.entry.digest } ?? false
    let record = tree.record(
      of: document, hash,
      bodyFile: document.body == nil && isSameFile ? UInt64(old?.bodyFile ?? 0) : file)
    if catalog.isReadOnly {
      return catalog.state.withLock { state in
        // Only in memory. Segment 0 means that the record is in the tree.
        state.put(record.head, segment: 0, offset: 0, recordLength: 0)
        return true
      }
    }
    if !isElsewhere { try noteLostRecords(document) }
    if document.body != nil { writer.requireFormat2() }
    var isThere = false
    let placed = try writer.append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === entries else { return [] }
      if let number = state.index.find(hash, document.entry.variant) {
        isThere = true
        guard let old, state.index[number].isSameRecord(as: old) else { return [] }
      }
      // The next number of a journal that is not whole has to be higher than those in the tree.
      if !state.journal.isWhole {
        state.journal.sequence = max(state.journal.sequence, document.sequence ?? 0)
      }
      return [record.settled(with: document.body)]
    }
    return placed != nil || isThere
  }

  /// Makes the journal count as damaged if it ends before the number of a metadata file. The record
  /// that is appended for that file leaves a gap, so the journal has to be written anew.
  private func noteLostRecords(_ document: MetadataDocument) throws(StoreError) {
    guard let sequence = document.sequence,
      catalog.state.withLock({ $0.journal.isWhole && sequence > $0.journal.sequence })
    else { return }
    try writer.noteLostRecords(through: sequence)
    upkeep.request(.reconcile)
  }

  /// Returns whether an entry in the tree was removed, according to the readable part of the journal.
  private func isRemoved(_ document: MetadataDocument, _ hash: KeyHash) -> Bool {
    let entry = document.entry
    return catalog.state.withLock { state in
      state.removals?.cover(hash, entry.variant, entry.digest, writtenAt: document.sequence)
        ?? false
    }
  }

  /// Returns whether a metadata file is that of an entry that was removed and not stored again, or
  /// that did not reach the disk, or without its body, before the power failed or a process was
  /// killed. A torn file names no key, so that its entry is lost, and its bytes count for no limit.
  func isLeftover(
    _ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory
  ) throws(StoreError) -> Bool {
    if let located = catalog.locate(hash, variant), !located.slot.isUnsettled { return false }
    let endedUncleanly = catalog.state.withLock { $0.endedUncleanly }
    guard let document = try tree.wholeDocument(hash, variant, entries) else {
      return endedUncleanly && tree.isTorn(hash, variant, entries)
    }
    if isRemoved(document, hash) { return true }
    if !endedUncleanly { return false }
    return try tree.bodyFile(hash, document, entries) == nil
  }

  /// Recovers an entry from the tree that is newer than its version in the index, because the
  /// record of the newer version was damaged. A metadata file is replaced only after its record was
  /// written, so a complete newer file was committed. The caller holds the shard.
  ///
  /// - Returns: whether it was recovered.
  /// - Throws: an error if files cannot be read now, or the journal cannot be written.
  package func takeUpNewer(
    _ slot: Slot, in directory: borrowing Descriptor, _ entries: EntriesDirectory
  ) throws(StoreError) -> Bool {
    let document: MetadataDocument
    do throws(ReadFailure) {
      document = try tree.document(Layout.metadata(slot.variant), in: directory)
    } catch {
      guard error == .unreadable else { return false }
      throw .unreadable("\(path)/entries/\(Layout.metadataPath(slot.keyHash, slot.variant).text)")
    }
    guard tree.isPlaced(document, slot.keyHash, slot.variant) else { return false }
    let located = catalog.state.withLock { $0.located(slot, in: entries) }
    if slot.isUnsettled {
      switch try compare(document, with: located) {
      case .newer: break
      // It was settled, and the record of that is lost.
      case .same where catalog.state.withLock({ $0.isDoubtful(slot) }): break
      case .same, .older:
        // An entry in the log has no files. These are of a version that it has replaced, or were
        // being written when a process was killed.
        if !catalog.isReadOnly { tree.discard(Layout.metadata(slot.variant), in: directory.raw) }
        return false
      }
    } else if try isSuperseded(document, by: located) {
      return false
    }
    return try takeUp(slot.keyHash, slot.variant, entries, replacing: slot)
      && catalog.state.withLock { state in
        state.index.find(slot.keyHash, slot.variant) != nil && state.number(of: slot) == nil
      }
  }

  /// The version of an entry in a metadata file, compared with the one in the log.
  private enum Version { case older, same, newer }

  private func compare(
    _ document: MetadataDocument, with located: Located
  ) throws(StoreError) -> Version {
    guard let sequence = document.sequence else { return .older }
    do throws(ReadFailure) {
      let record = try catalog.readRecord(located)
      if record.sequence < sequence { return .newer }
      return record.sequence == sequence && record.isSame(as: document.entry) ? .same : .older
    } catch {
      if error != .unreadable { return .newer }
      throw .unreadable(journal.path(of: located.slot.segment))
    }
  }

  /// Returns whether the record of an entry is as new as its metadata file, or newer.
  ///
  /// - Throws: an error if the record cannot be read now, and may be the newer one.
  private func isSuperseded(
    _ document: MetadataDocument, by located: Located
  ) throws(StoreError) -> Bool {
    let entry = document.entry
    let record: PutRecord
    do throws(ReadFailure) { record = try catalog.readRecord(located) } catch {
      if error == .unreadable && entry.digest != located.slot.digest {
        throw .unreadable(journal.path(of: located.slot.segment))
      }
      return false
    }
    if record.isSame(as: entry) {
      // A later removal must get a higher number.
      if let sequence = document.sequence, sequence > record.sequence, !catalog.isReadOnly {
        try writer.noteLostRecords(through: sequence)
      }
      // The file may have the body although the record says that it is in a file of its own.
      return document.body == nil || located.slot.isEmbedded || tree.hasBody(located)
    }
    // Sequence numbers decide, if both have one, because a clock may be wrong.
    if let sequence = document.sequence, record.sequence > 0 {
      return sequence <= record.sequence && hasBody(located)
    }
    // A change of the metadata keeps the time of storing. After a power cut, records that the
    // journal lacks were not promised, and the file may be the older one.
    let mayBeOlder =
      entry.created < record.head.created
      || entry.created == record.head.created && catalog.state.withLock { $0.endedUncleanly }
    return mayBeOlder && hasBody(located)
  }

  /// Returns whether the body of an entry is in its record or in a file.
  private func hasBody(_ located: Located) -> Bool {
    if located.slot.carriesBody, let segment = located.segment,
      let whole = try? catalog.readWhole(located, in: segment), whole.body != nil
    {
      return true
    }
    return tree.hasBody(located)
  }
}
