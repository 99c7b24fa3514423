internal import CacheFormat
internal import CacheSystem

/// The state of a store that all threads of a process share, under one lock.
struct StoreState: ~Copyable {
  var index: EntryIndex
  var journal: JournalState
  /// Whether the index has every entry; otherwise the tree is searched, too.
  var isComplete: Bool { journal.coverage != .partial && journal.unread == nil }
  /// Whether the index has every entry, and the whole journal could be read.
  var isIndexWhole: Bool { journal.isWhole && journal.unread == nil }
  /// The entries that were removed according to the journal. Only noted if the journal is not
  /// whole, or for a checker.
  var removals: Removals?
  /// Whether a process or the machine ended without closing the store, before it was opened here.
  var endedUncleanly = false
  /// Whether a repair could not search the tree for entries whose records are lost, so that the next opening
  /// has to.
  var mustSearch = false
  var entries: EntriesDirectory
  var limits = Limits.none
  /// The sizes from which the budgets of journal and log are made.
  let sizes: JournalSizes
  /// Whether the volume has so little room that bodies are stored in files at once.
  var isVolumeTight = false
  /// The segment with the record of the limits.
  var limitsSegment: UInt32 = 0
  /// How often the index was emptied: the numbers of slots are other ones afterwards.
  private(set) var clearings: UInt64 = 0
  /// The slots whose access time is not in the journal yet.
  var touched: [UInt32] = []
  /// Whether access times are written to the journal: not by a read-only store.
  private let writesTouches: Bool
  var memory: MemoryTier
  /// The last access time that was given or read. It always rises, also if the clock goes back.
  var lastTick: Int64 = 0
  /// Whether the store has been opened: the journal was read once.
  var isOpened = false
  /// Whether a thread has begun to close the store.
  var isClosing = false
  var isClosed = false
  /// The error for which this process closed the store: another program has converted it to a newer
  /// format.
  var refusal: StoreError?

  init(blockBytes: UInt64, entries: EntriesDirectory, _ options: Options) {
    writesTouches = !options.isReadOnly
    sizes = options.journal
    journal = JournalState(JournalTail(lag: options.lag))
    index = EntryIndex(blockBytes: blockBytes)
    self.entries = entries
    memory = MemoryTier(capacity: options.memoryBytes)
  }

  /// Returns the place of the entry of a slot, by default in the present `entries` directory.
  func located(_ slot: Slot, in directory: EntriesDirectory? = nil) -> Located {
    Located(
      slot: slot, segment: journal.segment(slot.segment), entries: directory ?? entries)
  }

  /// Returns the place of the entry of a slot number; `nil` for a free slot.
  func located(_ number: UInt32) -> Located? {
    let slot = index[number]
    return slot.isLive ? located(slot) : nil
  }

  /// Returns the number of a slot if the index still has the same record of its entry.
  func number(of slot: Slot) -> UInt32? {
    index.find(slot.keyHash, slot.variant).flatMap {
      index[$0].isSameRecord(as: slot) ? $0 : nil
    }
  }

  /// Throws `closed`, or the error for which this process closed the store, if it is closed.
  func checkOpen(_ path: String) throws(StoreError) {
    if isClosed { throw refusal ?? .closed(path) }
  }

  /// Returns whether the record of a later change of an entry may be lost.
  ///
  /// A settled entry is doubtful until it was compared with the tree, while the index is not
  /// complete. For one that is not settled the tree says nothing, so it stays doubtful as long as a
  /// part of the journal after its record cannot be read.
  ///
  /// - Parameter hasAsked: whether the caller has just compared it with the tree. As long as the end of
  ///   the journal cannot be read, others may change it at any time.
  @inline(__always)
  func isDoubtful(_ slot: Slot, hasAsked: Bool = false) -> Bool {
    if slot.isUnsettled { return journal.hasLost(after: slot) }
    if isComplete || slot.segment == 0 { return false }
    return journal.unread != nil && !hasAsked || !journal.confirmed.contains(slot.recordPlace)
  }

  /// Returns what the index says about an entry.
  @inline(__always)
  func presence(_ hash: KeyHash, _ variant: UInt64, hasAsked: Bool) -> Presence {
    if isClosed { return .closed }
    guard let number = index.find(hash, variant) else {
      return isComplete ? .absent : .uncertain(isKnown: false)
    }
    return isDoubtful(index[number], hasAsked: hasAsked)
      ? .uncertain(isKnown: true) : .present(number)
  }

  /// Returns the next access time.
  @inline(__always)
  mutating func tick(_ now: Int64) -> Int64 {
    // The addition wraps around, because the journal may contain any time, also the last one.
    lastTick = max(now, lastTick &+ 1)
    return lastTick
  }

  /// Notes an access, which the next touch record will contain.
  ///
  /// - Returns: whether it is the first one of that record, so that it has to be announced.
  @inline(__always)
  mutating func touch(_ slot: UInt32, now: Int64) -> Bool {
    let count = touched.count
    index.touch(slot, at: tick(now))
    setTouched(slot)
    return count == 0 && touched.count > 0
  }

  /// Lets the next touch record contain the access time of a slot.
  @inline(__always)
  mutating func setTouched(_ slot: UInt32) {
    if writesTouches, !index[slot].isTouched {
      index.setTouched(slot, true)
      touched.append(slot)
    }
  }

  /// Adds an entry to the index, or replaces it.
  mutating func put(_ head: PutHead, segment: UInt32, offset: UInt32, recordLength: UInt32) {
    // A slot number belongs to spare entries or to others.
    if let old = index.find(head.keyHash, head.variant), index[old].isSpare != head.isSpare {
      remove(head.keyHash, head.variant)
    }
    let (slot, replaced) = index.put(
      head, segment: segment, offset: offset, recordLength: recordLength)
    lastTick = max(lastTick, head.accessed.nanoseconds)
    journal.addLive(of: index[slot], 1)
    if let replaced {
      journal.addLive(of: replaced, -1)
      forget(slot)
    }
    assertInvariants()
  }

  /// Notes that the files of an entry were written. Ignores a record for an earlier version of the
  /// entry.
  mutating func settle(_ record: SettledRecord) {
    guard let slot = index.find(record.keyHash, record.variant),
      index[slot].segment == record.segment, index[slot].offset == record.offset
    else { return }
    journal.addLive(of: index[slot], -1)
    index.settle(
      slot, bodyFile: UInt32(truncatingIfNeeded: record.bodyFile),
      overhead: UInt64(record.overhead))
    journal.addLive(of: index[slot], 1)
    assertInvariants()
  }

  /// Removes an entry from the index.
  @discardableResult
  mutating func remove(_ hash: KeyHash, _ variant: UInt64) -> Slot? {
    guard let slot = index.find(hash, variant) else { return nil }
    let gone = index[slot]
    forget(slot)
    journal.addLive(of: gone, -1)
    index.remove(slot)
    assertInvariants()
    return gone
  }

  /// Adds an entry to the memory tier, if its record is still current and it is not too large.
  mutating func remember(_ slot: Slot, _ record: PutRecord, _ body: [UInt8]) {
    guard memory.admits(body.count + record.bytes.count), let number = number(of: slot)
    else { return }
    for gone in memory.insert(number, record, body) { index.setInMemory(gone, false) }
    index.setInMemory(number, true)
  }

  /// Removes an entry from the memory tier.
  mutating func forget(_ slot: UInt32) {
    guard index[slot].isInMemory else { return }
    memory.remove(slot)
    index.setInMemory(slot, false)
  }

  /// Removes all entries from the index.
  mutating func clear() {
    clearings += 1
    index = EntryIndex(blockBytes: index.blockBytes)
    memory.removeAll()
    touched = []
    journal.clearLive()
  }

  /// Changes when the index is built anew, and when records are found to be lost.
  var version: IndexVersion { IndexVersion(clearings: clearings, damages: journal.damages) }

  /// Notes that the index has every entry of the tree, too.
  ///
  /// - Parameter earlier: the version of the index before the tree was read.
  /// - Returns: false if it has changed since.
  mutating func setCompleted(since earlier: IndexVersion) -> Bool {
    guard version == earlier else { return false }
    if journal.coverage == .partial { journal.coverage = .completed }
    journal.confirmed = []
    return true
  }

  /// Does the same for a store that writes nothing, and so cannot set aside entries that may have been
  /// removed: they are left out.
  mutating func completeWithoutWriting(since earlier: IndexVersion) {
    // While the end of the journal cannot be read, every entry is doubtful.
    guard version == earlier, !isComplete, journal.unread == nil else { return }
    for number in 0..<UInt32(index.slotCount) {
      let slot = index[number]
      if slot.isLive, !slot.isUnsettled, isDoubtful(slot) { remove(slot.keyHash, slot.variant) }
    }
    _ = setCompleted(since: earlier)
  }

  /// Forgets what the journal says, so that all of it is read again.
  mutating func forgetJournal() {
    clear()
    journal.forgetSegments()
    journal.coverage = .whole
  }
}

/// The version of the index of a process.
struct IndexVersion: Equatable {
  let clearings: UInt64
  let damages: UInt64
}

/// What the index says about an entry.
enum Presence {
  /// It has the entry, in the slot of this number.
  case present(UInt32)
  case absent
  /// It may lack entries, or has an earlier version of this one perhaps.
  case uncertain(isKnown: Bool)
  case closed
}

extension StoreState {
  /// Returns whether the index is consistent, and agrees with the live bytes of the segments.
  ///
  /// - Complexity: O(slots + segments).
  func checkInvariants() -> Bool {
    var live: [UInt32: (heads: Int64, bodies: Int64)] = [:]
    for number in 0..<UInt32(index.slotCount) where index[number].isLive {
      let slot = index[number]
      live[slot.segment, default: (0, 0)].heads += Int64(slot.keptBytes)
      if slot.isUnsettled {
        live[slot.segment, default: (0, 0)].bodies += Int64(slot.loggedBytes)
      }
    }
    let isCounted = journal.segments.allSatisfy { use in
      guard let use else { return true }
      let sums = live[use.segment.number] ?? (0, 0)
      return use.liveBytes == sums.heads && use.unsettledBytes == sums.bodies
    }
    return isCounted && index.checkInvariants() && journal.checkInvariants()
  }

  /// In a build with `CHECKS_INVARIANTS`, traps if the state contradicts itself: after each change
  /// of a small store, and after some changes of a large one.
  @inline(__always)
  func assertInvariants() {
    #if CHECKS_INVARIANTS
      let count = UInt64(index.slotCount)
      if count > 8, journal.sequence % count != 0 { return }
      precondition(checkInvariants(), "the state of the store contradicts itself")
    #endif
  }
}
