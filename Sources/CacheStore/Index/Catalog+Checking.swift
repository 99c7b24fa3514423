package import CacheFormat
internal import CacheSystem

// Queries that only a check needs.
extension Catalog {
  /// The id of the store.
  package var id: StoreDescription.ID { place.description.id }

  /// The present `entries` directory.
  package var entriesDirectory: EntriesDirectory {
    reader.withCurrentState { $0.entries }
  }

  /// Returns the numbers of the slots in use, ordered by shard, and the position in them at which
  /// each shard begins.
  ///
  /// - Complexity: O(slots), 4 bytes for each.
  package func slotsByShard() -> (numbers: [UInt32], starts: [Int]) {
    reader.withCurrentState { state in
      var starts = [Int](repeating: 0, count: Layout.shardCount + 1)
      let slots = 0..<UInt32(state.index.slotCount)
      for number in slots where state.index[number].isLive {
        starts[Layout.shardNumber(of: state.index[number].keyHash) + 1] += 1
      }
      for shard in 0..<Layout.shardCount { starts[shard + 1] += starts[shard] }
      var numbers = [UInt32](repeating: 0, count: starts[Layout.shardCount])
      var next = starts
      for number in slots where state.index[number].isLive {
        let shard = Layout.shardNumber(of: state.index[number].keyHash)
        numbers[next[shard]] = number
        next[shard] += 1
      }
      return (numbers, starts)
    }
  }

  /// Returns the key hashes of slots, without those that are no longer in use for a key of the
  /// shard.
  package func keyHashes(of numbers: ArraySlice<UInt32>, shard: Int) -> [KeyHash] {
    state.withLock { state in
      numbers.compactMap { number in
        // All entries may have been removed since, or another key may have got the slot.
        guard number < state.index.slotCount else { return nil }
        let slot = state.index[number]
        guard slot.isLive, Layout.shardNumber(of: slot.keyHash) == shard else { return nil }
        return slot.keyHash
      }
    }
  }

  /// Whether the journal is whole, and could be read to its end.
  package var isJournalKnown: Bool { reader.withCurrentState { $0.isIndexWhole } }

  /// Throws an error if the journal cannot be read to its end now, so that nothing may be decided.
  package func checkReadable() throws(StoreError) { try reader.checkReadable() }

  /// Returns the present settled entries of some keys, in the same order.
  ///
  /// - Parameter mayBeUnread: whether the entries are returned that are known if the journal cannot
  ///   be read to its end now.
  /// - Throws: otherwise, the error for which it cannot be read.
  /// - Complexity: O(variants) expected, and one ioctl(2) for all.
  package func indexed(
    _ hashes: [KeyHash], mayBeUnread: Bool = false
  ) throws(StoreError) -> [IndexedKey] {
    try reader.withCurrentState { state throws(StoreError) in
      if !mayBeUnread { try reader.check(state) }
      return hashes.map { hash in
        let numbers = state.index.variants(of: hash).filter { !state.index[$0].isUnsettled }
        return IndexedKey(
          slots: numbers.map { state.index[$0] },
          sharesFiles: numbers.contains { state.index[$0].next != $0 })
      }
    }
  }

  /// Returns the body of an entry if its record still carries it: a settled entry keeps it until its
  /// segment is dropped.
  ///
  /// - Returns: `nil` if the record does not carry it, is damaged, or is no longer current.
  /// - Throws: an error if the record cannot be read now.
  package func carriedBody(of slot: Slot) throws(StoreError) -> [UInt8]? {
    guard slot.carriesBody, let located = locate(slot.keyHash, slot.variant),
      located.slot.isSameRecord(as: slot), let segment = located.segment
    else { return nil }
    do throws(ReadFailure) { return try readWhole(located, in: segment).body } catch {
      guard error == .unreadable else { return nil }
      throw .unreadable(journal.path(of: segment.number))
    }
  }

  /// Returns whether an entry in the log is given up when the journal is written anew, because its later
  /// records may be lost, and it has no files.
  package func isLost(_ slot: Slot) -> Bool {
    state.withLock { $0.isDoubtful(slot) }
      && fileSystem.isMissing(
        Layout.metadataPath(slot.keyHash, slot.variant), in: entriesDirectory.directory.raw)
  }

  /// Returns whether the journal is whole, and ends before a number.
  package func isBeyondJournal(_ sequence: UInt64?) -> Bool {
    reader.withCurrentState { $0.journal.isWhole && (sequence ?? 0) > $0.journal.sequence }
  }

  /// Returns whether the journal has a segment with this number now.
  package func hasSegment(_ number: UInt32) -> Bool {
    state.withLock { $0.journal.segment(number) != nil }
  }

  /// Returns the present slot of an entry; `nil` if the index does not have it.
  package func slot(_ hash: KeyHash, _ variant: UInt64) -> Slot? {
    reader.withCurrentState { state in
      state.index.find(hash, variant).map { state.index[$0] }
    }
  }

  /// Returns the present slot of an entry that has files; `nil` if the index does not have it.
  package func settledSlot(_ hash: KeyHash, _ variant: UInt64) -> Slot? {
    slot(hash, variant).flatMap { $0.isUnsettled ? nil : $0 }
  }

  /// Calls `body` with each entry that only the journal has, and the state of its body there. The
  /// key is known if the bodies are read and the rest of the record is whole.
  ///
  /// - Parameter isDeep: whether the bodies are read. Otherwise they count as intact.
  /// - Complexity: O(entries), and the bytes of those in the log.
  package func forEachLogged(
    isDeep: Bool, _ body: (Slot, _ key: [UInt8]?, LoggedBody) -> Void
  ) {
    forEachUnsettled { place in
      if !isDeep { return body(place.slot, nil, .intact) }
      var (key, state) = ([UInt8]?.none, LoggedBody.damaged)
      do throws(ReadFailure) {
        if let segment = place.segment {
          let whole = try readWhole(place, in: segment)
          key = whole.record.key.bytes
          if whole.body != nil { state = .intact }
        }
      } catch {
        if error == .unreadable { state = .unreadable }
      }
      if state == .intact || isCurrent(place) { body(place.slot, key, state) }
    }
  }

  /// Returns the reason for which the journal no longer has an entry whose files are still there.
  ///
  /// - Parameters:
  ///   - digest: that of its body.
  ///   - sequence: the number in its metadata file.
  /// - Returns: `nil` if the journal has no remove record for the entry. Compaction may have
  ///   dropped it.
  /// - Throws: `newerFormat`, or the error of the system if the journal cannot be read.
  /// - Complexity: O(journal) the first time, and O(1) later. Takes memory for each removal in the
  ///   journal.
  package func goodbye(
    to hash: KeyHash, _ variant: UInt64, _ digest: Digest, sequence: UInt64?
  ) throws(StoreError) -> Goodbye? {
    try reader.withCurrentState { state throws(StoreError) in
      if let sequence, sequence > max(state.journal.openedSequence, state.journal.sequence) {
        return .lost
      }
      guard let removals = try removals(&state) else { return nil }
      if removals.haveGivenUp(hash, variant, digest) { return .givenUp }
      return removals.cover(hash, variant, digest, writtenAt: sequence) ? .removed : nil
    }
  }

  /// Returns whether an entry of a key that had this body was removed on request or by a limit, or was
  /// replaced, according to the journal.
  ///
  /// - Throws: as `goodbye`, and takes as long.
  package func hasRemoved(_ body: Digest, of hash: KeyHash) throws(StoreError) -> Bool {
    try reader.withCurrentState { state throws(StoreError) in
      try removals(&state)?.haveRemoved(body, of: hash) ?? false
    }
  }

  private func removals(_ state: inout StoreState) throws(StoreError) -> Removals? {
    if state.removals == nil { try reader.noteRemovals(&state) }
    try reader.check(state)
    return state.removals
  }

  /// Returns whether an entry has a body with this digest and length, according to its record.
  package func hasBody(_ digest: Digest, length: UInt64) -> Bool {
    state.withLock { $0.index.sharing(digest, length: length) != nil }
  }

  /// Returns whether other entries have the same body file, according to their records.
  package func sharesFile(_ slot: Slot) -> Bool { state.withLock { !$0.index.isAlone(slot) } }

  /// Reads the record of an entry from the journal; `nil` if only the tree has the entry, or if the
  /// record cannot be read.
  package func record(of slot: Slot) -> PutRecord? {
    let located = state.withLock { $0.located(slot) }
    return located.segment == nil ? nil : try? readRecord(located)
  }
}

/// The state of a body that only the journal has.
package enum LoggedBody: Sendable {
  case intact
  case damaged
  /// The system cannot read it now.
  case unreadable
}

/// The reason for which the journal no longer has an entry.
package enum Goodbye: Sendable, Hashable {
  /// It was removed by a call or by a limit.
  case removed
  /// Its files were damaged or gone.
  case givenUp
  /// The journal ends before its record. It was lost, or a killed process has not written it.
  case lost
}

/// The entries of a key in the index.
package struct IndexedKey: Sendable {
  /// All variants.
  package var slots: [Slot] = []
  /// Whether other entries have the same body file as one of them, according to their records.
  package var sharesFiles = false

  package init() {}

  init(slots: [Slot], sharesFiles: Bool) {
    self.slots = slots
    self.sharesFiles = sharesFiles
  }
}
