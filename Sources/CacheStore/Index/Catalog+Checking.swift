package import CacheFormat
internal import CacheSystem
internal import Synchronization

// What a check asks of the engine, besides what every caller may.
extension Catalog {
  /// The id of the store.
  package var id: StoreDescription.ID { place.description.id }

  /// When the store was created.
  package var created: Timestamp { place.description.created }

  /// The present `entries` directory.
  package var entriesDirectory: EntriesDirectory {
    state.withLock { state in
      follow(&state)
      return state.entries
    }
  }

  /// The numbers of the slots in use, those of one shard after the other, and where each begins.
  ///
  /// - Complexity: O(slots), 4 bytes for each.
  package func slotsByShard() -> (numbers: [UInt32], starts: [Int]) {
    state.withLock { state in
      follow(&state)
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

  /// The key hashes of slots, as far as they are still those of a key in a shard.
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

  /// What the index says of some keys now, in the same order.
  ///
  /// - Complexity: O(variants) expected, and one lseek(2) for all.
  package func indexed(_ hashes: [KeyHash]) -> [IndexedKey] {
    state.withLock { state in
      follow(&state)
      return hashes.map { hash in
        let numbers = state.index.variants(of: hash)
        return IndexedKey(
          slots: numbers.map { state.index[$0] },
          sharesFiles: numbers.contains { state.index[$0].next != $0 })
      }
    }
  }

  /// Whether a segment is one of the journal as it is now.
  package func hasSegment(_ number: UInt32) -> Bool {
    state.withLock { $0.journal.segment(number) != nil }
  }

  /// What the index says of one entry now.
  package func slot(_ hash: KeyHash, _ variant: UInt64) -> Slot? {
    state.withLock { state in
      follow(&state)
      return state.index.find(hash, variant).map { state.index[$0] }
    }
  }

  /// What the journal says of an entry that the index does not have, and whose files are there.
  ///
  /// - Parameter created: when it was stored, as its metadata file says.
  /// - Returns: nil where the journal says nothing; it may have, before it was compacted.
  /// - Throws: where the journal cannot be read.
  /// - Complexity: O(journal) the first time, O(1) then; memory for each removal in the journal.
  package func goodbye(
    to hash: KeyHash, _ variant: UInt64, created: Timestamp
  ) throws(StoreError) -> Goodbye? {
    try state.withLock { state throws(StoreError) in
      follow(&state)
      if state.removals == nil {
        // Reading a removal of all opens the directory of entries again, which is the same one.
        let entries = state.entries
        try noteRemovals(&state)
        state.entries = entries
      }
      guard let removals = state.removals else { return nil }
      if removals.haveGivenUp(hash, variant) { return .givenUp }
      return removals.cover(hash, variant, created: created) ? .removed : nil
    }
  }

  /// Whether other entries have the same body file, by their records.
  package func sharesFile(_ slot: Slot) -> Bool {
    state.withLock { state in
      guard let number = state.index.find(slot.keyHash, slot.variant) else { return false }
      return state.index[number].next != number
    }
  }

  /// Reads the record of an entry from the journal; nil where it is in the tree alone, or cannot be
  /// read as the index has it.
  package func record(of slot: Slot) -> PutRecord? {
    let located = state.withLock { $0.located(slot) }
    return located.segment == nil ? nil : try? readRecord(located)
  }
}

/// Why the journal does not have an entry any more.
package enum Goodbye: Sendable, Hashable {
  /// Somebody removed it, or a limit.
  case removed
  /// Its files were damaged or gone.
  case givenUp
}

/// What the index says of a key.
package struct IndexedKey: Sendable {
  /// All variants.
  package var slots: [Slot] = []
  /// Whether other entries have the same body file as one of them, by their records.
  package var sharesFiles = false

  package init() {}

  init(slots: [Slot], sharesFiles: Bool) {
    self.slots = slots
    self.sharesFiles = sharesFiles
  }
}
