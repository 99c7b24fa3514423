internal import CacheFormat
internal import CacheSystem

/// Everything that the threads of a process share about a store; behind one mutex.
struct StoreState: ~Copyable {
  var index: EntryIndex
  var journal = JournalState()
  /// Whether the index knows every entry; otherwise the tree is asked, too.
  var isComplete = true
  /// What the journal says was removed; only where it is not whole, or a checker has asked.
  var removals: Removals?
  /// While the index is not complete: the records for which the tree was asked, by segment and offset.
  var confirmed: Set<UInt64> = []
  /// Whether a process or the machine ended without closing the store, before it was opened here.
  var endedUncleanly = false
  var entries: EntriesDirectory
  var limits = Limits.none
  /// Where the limits stand in the journal.
  var limitsSegment: UInt32 = 0
  /// The slots whose access time the journal does not know yet.
  var touched: [UInt32] = []
  var memory: MemoryTier
  /// The last access time given out or read; strictly rising, also when the clock goes back.
  var lastTick: Int64 = 0
  /// Whether the journal was read once.
  var isOpened = false
  /// Whether a thread has begun to close the store.
  var isClosing = false
  var isClosed = false
  /// Why the store was closed here: another program has converted it to a newer format meanwhile.
  var refusal: StoreError?

  init(blockBytes: UInt64, entries: EntriesDirectory, memoryBytes: Int) {
    index = EntryIndex(blockBytes: blockBytes)
    self.entries = entries
    memory = MemoryTier(capacity: memoryBytes)
  }

  /// Where the entry of a slot is.
  func located(_ slot: Slot) -> Located {
    Located(slot: slot, segment: journal.segment(slot.segment), entries: entries)
  }

  /// Whether the journal is not whole and the tree has not been asked for an entry yet: the record of
  /// a later change may be lost.
  @inline(__always)
  func isDoubtful(_ slot: Slot) -> Bool {
    !isComplete && slot.segment != 0 && !confirmed.contains(slot.recordPlace)
  }

  /// The next access time.
  @inline(__always)
  mutating func tick(_ now: Int64) -> Int64 {
    // A journal may say any time, also the last one there is.
    lastTick = max(now, lastTick &+ 1)
    return lastTick
  }

  /// Notes an access for the next touch record.
  @inline(__always)
  mutating func touch(_ slot: UInt32, now: Int64) {
    index.touch(slot, at: tick(now))
    if !index[slot].isTouched {
      index.setTouched(slot, true)
      touched.append(slot)
    }
  }

  /// Puts an entry into the index.
  mutating func put(_ head: PutHead, segment: UInt32, offset: UInt32, recordLength: UInt32) {
    let (slot, replaced) = index.put(
      head, segment: segment, offset: offset, recordLength: recordLength)
    lastTick = max(lastTick, head.accessed.nanoseconds)
    journal.addLive(Int64(recordLength), to: segment)
    if let replaced {
      journal.addLive(-Int64(replaced.recordLength), to: replaced.segment)
      forget(slot)
    }
    assertInvariants()
  }

  /// Takes an entry out of the index.
  @discardableResult
  mutating func remove(_ hash: KeyHash, _ variant: UInt64) -> Slot? {
    guard let slot = index.find(hash, variant) else { return nil }
    let gone = index[slot]
    forget(slot)
    journal.addLive(-Int64(gone.recordLength), to: gone.segment)
    index.remove(slot)
    assertInvariants()
    return gone
  }

  /// Puts an entry into the memory tier, if it is still the one that was read and has room there.
  mutating func remember(_ slot: Slot, _ record: PutRecord, _ body: [UInt8]) {
    guard memory.admits(body.count + record.bytes.count),
      let number = index.find(slot.keyHash, slot.variant), index[number].isSameRecord(as: slot)
    else { return }
    for gone in memory.insert(number, record, body) { index.setInMemory(gone, false) }
    index.setInMemory(number, true)
  }

  /// Takes an entry out of the memory tier.
  mutating func forget(_ slot: UInt32) {
    guard index[slot].isInMemory else { return }
    memory.remove(slot)
    index.setInMemory(slot, false)
  }

  /// Forgets all entries.
  mutating func clear() {
    index = EntryIndex(blockBytes: index.blockBytes)
    memory.removeAll()
    touched = []
    journal.clearLive()
  }
}

extension StoreState {
  /// Tells whether the index agrees with itself, and with what the journal counts as live.
  ///
  /// - Complexity: O(slots + segments).
  func checkInvariants() -> Bool {
    var live: [UInt32: Int64] = [:]
    for number in 0..<UInt32(index.slotCount) where index[number].isLive {
      live[index[number].segment, default: 0] += Int64(index[number].recordLength)
    }
    let isCounted = journal.segments.allSatisfy { use in
      use.map { $0.liveBytes == live[$0.segment.number] ?? 0 } ?? true
    }
    return isCounted && index.checkInvariants() && journal.checkInvariants()
  }

  /// In a build with `CHECKS_INVARIANTS`, traps if the state contradicts itself: after each change of a
  /// small store, and after some changes of a large one.
  @inline(__always)
  func assertInvariants() {
    #if CHECKS_INVARIANTS
      let count = UInt64(index.slotCount)
      if count > 64, journal.sequence % count != 0 { return }
      precondition(checkInvariants(), "the state of the store contradicts itself")
    #endif
  }
}
