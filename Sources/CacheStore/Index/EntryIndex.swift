internal import CacheFormat

/// The index in memory: slots that are found by key hash and by digest, and ordered by access time.
struct EntryIndex: ~Copyable {
  private var slots = PagedArray(filler: Slot())
  private var byKey = SlotTable()
  /// One slot of each ring (the slots whose bodies are one file). If equal bodies have several
  /// files, the file that a new entry shares is found by the hash of the digest, and the others by
  /// `fileHash`.
  private var byDigest = SlotTable()
  private var heap = AccessHeap()
  /// The heap of the spare entries. A slot number belongs to one heap for ever.
  private var spareHeap = AccessHeap()
  private var firstFree = Slot.none
  private var firstSpareFree = Slot.none
  private(set) var totals = EntryTotals()
  /// The block size in bytes. Bodies count in whole blocks.
  let blockBytes: UInt64

  init(blockBytes: UInt64) {
    self.blockBytes = max(blockBytes, 512)
  }

  /// The number of slots, including free ones.
  var slotCount: Int { slots.count }

  /// Returns the bytes allocated for a body of `length` bytes in a file of its own.
  func allocated(_ length: UInt64) -> UInt64 {
    (length + blockBytes - 1) / blockBytes * blockBytes
  }

  /// Returns the bytes allocated for the body file of an entry, also if that is not written yet.
  func allocated(_ slot: Slot) -> UInt64 { slot.isEmbedded ? 0 : allocated(slot.length) }

  subscript(_ slot: UInt32) -> Slot {
    @inline(__always) get { slots[Int(slot)] }
  }

  /// - Complexity: O(1) expected.
  @inline(__always)
  func find(_ hash: KeyHash, _ variant: UInt64) -> UInt32? {
    return byKey.find(hash.low) {
      slots[Int($0)].keyHash == hash && slots[Int($0)].variant == variant
    }
  }

  /// Returns the slots of all variants of a key.
  ///
  /// - Complexity: O(variants) expected.
  func variants(of hash: KeyHash) -> [UInt32] {
    var found: [UInt32] = []
    _ = byKey.find(hash.low) {
      if slots[Int($0)].keyHash == hash { found.append($0) }
      return false
    }
    return found
  }

  /// Returns a settled entry whose body has this digest and length, so that its file can be shared.
  ///
  /// - Complexity: O(1) expected.
  func sharing(_ digest: Digest, length: UInt64) -> Slot? {
    return byDigest.find(digest.low) {
      slots[Int($0)].digest == digest && slots[Int($0)].length == length
    }.map { slots[Int($0)] }
  }

  /// Returns whether no other entry has the body file of an entry.
  func isAlone(_ slot: Slot) -> Bool {
    find(slot.keyHash, slot.variant).map { slots[Int($0)].next == $0 } ?? true
  }

  /// Adds an entry, or replaces the one with the same key hash and variant, which has to be spare
  /// if and only if the new one is.
  ///
  /// - Returns: the number of its slot, and the slot's contents before if an entry was replaced.
  /// - Complexity: O(log n) at most, mostly O(1).
  @discardableResult
  mutating func put(
    _ head: PutHead, segment: UInt32, offset: UInt32, recordLength: UInt32
  ) -> (slot: UInt32, replaced: Slot?) {
    let old = find(head.keyHash, head.variant)
    let before = old.map { slots[Int($0)] }
    let number: UInt32
    if let old {
      number = old
      count(old, -1)
      if before?.digest != head.digest || before?.length != head.length
        || before?.bodyFile != UInt32(truncatingIfNeeded: head.bodyFile)
        || before?.isUnsettled != head.isUnsettled
        || before?.isEmbedded != head.isEmbedded
      {
        leaveRing(old)
        fill(old, head)
        joinRing(old)
      } else {
        fill(old, head)
      }
    } else {
      number = takeFree(for: head.accessed.nanoseconds, isSpare: head.isSpare)
      fill(number, head)
      byKey.insert(head.keyHash.low, number)
      joinRing(number)
    }
    slots[Int(number)].segment = segment
    slots[Int(number)].offset = offset
    slots[Int(number)].recordLength = recordLength
    slots[Int(number)].isTouched = before?.isTouched ?? false
    slots[Int(number)].isInMemory = before?.isInMemory ?? false
    count(number, 1)
    enterHeap(number)
    return (number, before)
  }

  /// Notes that the files of an entry were written.
  ///
  /// - Complexity: O(1) expected.
  mutating func settle(_ number: UInt32, bodyFile: UInt32, overhead: UInt64) {
    count(number, -1)
    leaveRing(number)
    slots[Int(number)].isUnsettled = false
    slots[Int(number)].bodyFile = bodyFile
    slots[Int(number)].overhead = overhead
    joinRing(number)
    count(number, 1)
  }

  /// Removes an entry.
  ///
  /// - Complexity: O(1) expected.
  mutating func remove(_ number: UInt32) {
    count(number, -1)
    leaveRing(number)
    byKey.remove(slots[Int(number)].keyHash.low, number)
    slots[Int(number)].isLive = false
    slots[Int(number)].isPinned = false
    if slots[Int(number)].isSpare {
      slots[Int(number)].next = firstSpareFree
      firstSpareFree = number
    } else {
      slots[Int(number)].next = firstFree
      firstFree = number
    }
  }

  /// Notes an access. A time that is not later than the known one changes nothing.
  @inline(__always)
  mutating func touch(_ number: UInt32, at time: Int64) {
    if slots[Int(number)].accessed < time { slots[Int(number)].accessed = time }
  }

  mutating func setTouched(_ number: UInt32, _ value: Bool) {
    slots[Int(number)].isTouched = value
  }

  mutating func setInMemory(_ number: UInt32, _ value: Bool) {
    slots[Int(number)].isInMemory = value
  }

  /// Returns the least recently accessed entry that is not pinned. It stays in the index.
  ///
  /// - Complexity: O(log n) for each item of the heaps that has to be corrected.
  mutating func oldest() -> Slot? {
    guard let other = Self.oldest(&heap, &slots) else { return oldestSpare() }
    guard let spare = oldestSpare(), spare.accessed < other.accessed else { return other }
    return spare
  }

  /// Returns the least recently accessed spare entry that is not pinned. It stays in the index.
  ///
  /// - Complexity: as ``oldest()``.
  mutating func oldestSpare() -> Slot? { Self.oldest(&spareHeap, &slots) }

  private static func oldest(
    _ heap: inout AccessHeap, _ slots: inout PagedArray<Slot>
  ) -> Slot? {
    while let first = heap.first {
      let slot = slots[Int(first.slot)]
      if !slot.isLive || slot.isPinned {
        heap.removeFirst()
        slots[Int(first.slot)].isInHeap = false
      } else if slot.accessed > first.time {
        heap.delayFirst(to: slot.accessed)
      } else {
        return slot
      }
    }
    return nil
  }

  /// Returns a free slot number for an entry that was accessed at a time.
  private mutating func takeFree(for time: Int64, isSpare: Bool) -> UInt32 {
    let first = isSpare ? firstSpareFree : firstFree
    // The item that the heap still has for a free slot may be later than the access time of an
    // entry with a `ImportedTimes`. Then it would be no lower bound, so another slot is taken.
    if first == Slot.none
      || slots[Int(first)].isInHeap && slots[Int(first)].accessed > time
    {
      slots.append(Slot())
      precondition(slots.count < Int(UInt32.max), "an index holds fewer than 2^32 entries")
      return UInt32(slots.count - 1)
    }
    let next = slots[Int(first)].next
    if isSpare { firstSpareFree = next } else { firstFree = next }
    return first
  }

  private mutating func fill(_ number: UInt32, _ head: PutHead) {
    slots[Int(number)].keyHash = head.keyHash
    slots[Int(number)].digest = head.digest
    slots[Int(number)].variant = head.variant
    slots[Int(number)].length = head.length
    // The access time is never earlier than the item that the heap may still have for this slot
    // number.
    let known = slots[Int(number)].accessed
    let isKnown = slots[Int(number)].isLive || slots[Int(number)].isInHeap
    slots[Int(number)].accessed =
      isKnown ? max(known, head.accessed.nanoseconds) : head.accessed.nanoseconds
    let seconds = head.created.nanoseconds / 1_000_000_000
    slots[Int(number)].createdSeconds = UInt32(clamping: seconds)
    slots[Int(number)].bodyFile = UInt32(truncatingIfNeeded: head.bodyFile)
    slots[Int(number)].overhead = UInt64(head.overhead)
    slots[Int(number)].isPinned = head.isPinned
    slots[Int(number)].carriesBody = head.carriesBody
    slots[Int(number)].isUnsettled = head.isUnsettled
    slots[Int(number)].isEmbedded = head.isEmbedded
    slots[Int(number)].isSpare = head.isSpare
    slots[Int(number)].isLive = true
  }

  private mutating func enterHeap(_ number: UInt32) {
    guard !slots[Int(number)].isInHeap, !slots[Int(number)].isPinned else { return }
    slots[Int(number)].isInHeap = true
    let time = slots[Int(number)].accessed
    if slots[Int(number)].isSpare {
      spareHeap.insert(number, at: time)
    } else {
      heap.insert(number, at: time)
    }
  }

  // MARK: Equal bodies

  /// Returns a slot of the ring of slots whose bodies are the same file; `nil` if there is no ring.
  private func ring(of slot: Slot) -> UInt32? {
    func isSameFile(_ number: UInt32) -> Bool { slots[Int(number)].isSameFile(as: slot) }
    return byDigest.find(slot.digest.low, where: isSameFile)
      ?? byDigest.find(slot.fileHash, where: isSameFile)
  }

  /// Adds a slot to the ring of its file, or begins a ring and counts the file. An entry without a
  /// file is alone. If it is not settled, it counts with the file that it will have.
  private mutating func joinRing(_ number: UInt32) {
    let slot = slots[Int(number)]
    if !slot.hasBodyFile {
      slots[Int(number)].previous = number
      slots[Int(number)].next = number
      totals.bodyBytes += allocated(slot)
      return
    }
    if let other = ring(of: slot) {
      let after = slots[Int(other)].next
      slots[Int(number)].previous = other
      slots[Int(number)].next = after
      slots[Int(after)].previous = number
      slots[Int(other)].next = number
      totals.sharedBytes += slot.length
      totals.sharedAllocatedBytes += allocated(slot)
      return
    }
    slots[Int(number)].previous = number
    slots[Int(number)].next = number
    totals.bodyBytes += allocated(slot.length)
    // If there is another file of this body, it has too many links or cannot be linked. The new
    // file is shared from now on.
    if let other = byDigest.find(slot.digest.low, where: { slots[Int($0)].digest == slot.digest }) {
      byDigest.remove(slot.digest.low, other)
      byDigest.insert(slots[Int(other)].fileHash, other)
    }
    byDigest.insert(slot.digest.low, number)
  }

  private mutating func leaveRing(_ number: UInt32) {
    let slot = slots[Int(number)]
    let isAlone = slot.next == number
    if isAlone {
      totals.bodyBytes -= allocated(slot)
    } else {
      totals.sharedBytes -= slot.length
      totals.sharedAllocatedBytes -= allocated(slot)
      slots[Int(slot.previous)].next = slot.next
      slots[Int(slot.next)].previous = slot.previous
    }
    for hash in [slot.digest.low, slot.fileHash]
    where byDigest.find(hash, where: { $0 == number }) != nil {
      byDigest.remove(hash, number)
      if !isAlone { byDigest.insert(hash, slot.previous) }
      return
    }
  }

  // MARK: Sums

  private mutating func count(_ number: UInt32, _ sign: Int) {
    let slot = slots[Int(number)]
    totals.count(slot, allocated: allocated(slot), sign)
  }
}

extension EntryIndex {
  /// Returns whether tables, rings, heap and sums agree with the slots.
  ///
  /// - Complexity: O(slots).
  func checkInvariants() -> Bool {
    var sums = EntryTotals()
    var heaped: Set<UInt32> = []
    var isBound = heap.checkInvariants() && spareHeap.checkInvariants()
    isBound = isBound && byKey.checkInvariants() && byDigest.checkInvariants()
    func note(_ number: UInt32, _ time: Int64, isSpare: Bool) {
      let slot = slots[Int(number)]
      isBound =
        isBound && heaped.insert(number).inserted && slot.accessed >= time
        && slot.isSpare == isSpare
    }
    heap.forEach { note($0, $1, isSpare: false) }
    spareHeap.forEach { note($0, $1, isSpare: true) }
    for number in 0..<UInt32(slots.count) {
      let slot = slots[Int(number)]
      if slot.isInHeap != heaped.contains(number) { return false }
      guard slot.isLive else { continue }
      if !slot.isPinned && !slot.isInHeap { return false }
      if find(slot.keyHash, slot.variant) != number || !isInRing(number) { return false }
      sums.count(slot, allocated: allocated(slot), 1)
      // The file counts for the lowest slot number of its ring.
      if firstInRing(number) == number {
        sums.bodyBytes += allocated(slot)
      } else {
        sums.sharedBytes += slot.length
        sums.sharedAllocatedBytes += allocated(slot)
      }
    }
    return isBound && sums == totals
  }

  private func isInRing(_ number: UInt32) -> Bool {
    let slot = slots[Int(number)]
    let (next, previous) = (slots[Int(slot.next)], slots[Int(slot.previous)])
    if !slot.hasBodyFile { return slot.next == number && slot.previous == number }
    return next.previous == number && previous.next == number && next.isSameFile(as: slot)
      && ring(of: slot) != nil
  }

  private func firstInRing(_ number: UInt32) -> UInt32 {
    var least = number
    var next = slots[Int(number)].next
    while next != number {
      least = min(least, next)
      next = slots[Int(next)].next
    }
    return least
  }
}
