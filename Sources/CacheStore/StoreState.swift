internal import CacheFormat
internal import CacheSystem

/// Everything that the threads of a process share about a store; behind one mutex.
struct StoreState: ~Copyable {
  var index: EntryIndex
  /// The segments from `firstSegment` on; nil where one is missing.
  var segments: [SegmentUse?] = [] {
    didSet {
      tail = JournalTail.Mark(
        file: segments.last??.segment.file.raw ?? -1,
        position: segments.last??.readBytes ?? 0)
      sharedTail.set(tail)
    }
  }
  /// The file of the last segment, and how far it has been read: what every look-up compares.
  private(set) var tail = JournalTail.Mark()
  /// The same, for those who do not hold the state.
  let sharedTail = JournalTail()
  var firstSegment: UInt32 = 1
  /// The number of `lock` when it was last looked whether another segment follows the last one, which
  /// has no seal.
  var lockNumber: UInt64 = 0
  /// The look-ups that found the journal as it was.
  var quietLooks: UInt8 = 0
  /// The sequence number of the last record that was read.
  var sequence: UInt64 = 0
  /// The sequence number of the last record when the store was opened here.
  var openedSequence: UInt64 = 0
  /// The oldest segment that still counts, as the journal says.
  var oldestNeeded: UInt32 = 1
  /// Whether there are files of segments that the journal has dropped.
  var hasDroppedFiles = false
  /// Whether everything that was ever written to the journal could be read.
  var isJournalWhole = true
  /// Whether the index knows every entry; otherwise the tree is asked, too.
  var isComplete = true
  var journalDamages: UInt64 = 0
  /// What the journal says was removed; only where it is not whole, or a checker has asked.
  var removals: Removals?
  /// While the index is not complete: the records for which the tree was asked, by segment and offset.
  var confirmed: Set<UInt64> = []
  /// Whether a process or the machine ended without closing the store, before it was opened here.
  var endedUncleanly = false
  /// Whether the closing mark says that the journal ends where it should.
  var endedAsMarked = true
  var entries: EntriesDirectory
  var limits = Limits.none
  /// Where the limits stand in the journal.
  var limitsSegment: UInt32 = 0
  /// The slots whose access time the journal does not know yet.
  var touched: [UInt32] = []
  var memory: MemoryTier
  var counters = Counters()
  /// The last access time given out or read; strictly rising, also when the clock goes back.
  var lastTick: Int64 = 0
  /// The journal as it was found after another process dropped what we had not read.
  var needsReload = false
  /// Bytes that stand at the end and are no record: a write in progress, or what a killed one left.
  var tornBytes: Int64 = 0
  /// The length of the journal from which compaction is tried again, after it has failed.
  var compactsFrom: Int64 = 0
  /// Whether the journal said at opening that entries were removed because somebody asked for it: what
  /// they were may still stand in it.
  var hasRemoved = false
  /// Whether the journal was read once.
  var isOpened = false
  var isClosed = false
  /// Why the store was closed here: another program has converted it to a newer format meanwhile.
  var refusal: StoreError?

  struct Counters {
    var hits: UInt64 = 0
    var memoryHits: UInt64 = 0
    var misses: UInt64 = 0
    var damagedMisses: UInt64 = 0
    var stores: UInt64 = 0
    var evictions: UInt64 = 0
  }

  /// Where the index lies in a file, the folder for it.
  private let indexFolder: String?

  init(
    blockBytes: UInt64, entries: EntriesDirectory, memoryBytes: Int, indexFolder: String? = nil
  ) {
    self.indexFolder = indexFolder
    index = EntryIndex(blockBytes: blockBytes, in: IndexMemory(in: indexFolder))
    self.entries = entries
    memory = MemoryTier(capacity: memoryBytes)
  }

  /// The segment that is being written and read.
  var current: Segment? { segments.last??.segment }

  /// The number of the segment to begin where there is none to write to.
  ///
  /// A journal that was lost does not begin with 1 again: the number that is missing says that there
  /// may be entries that it does not know, until it has been written anew.
  var nextSegment: UInt32 {
    let next = firstSegment + UInt32(segments.count)
    return segments.isEmpty && !isJournalWhole ? next + 1 : next
  }

  /// Adds a segment after the last one. Numbers that were left out, because other files have those
  /// names, stand as missing: the journal is written anew.
  mutating func add(_ segment: Segment) {
    if segments.isEmpty { firstSegment = segment.number }
    while segment.number > firstSegment + UInt32(segments.count) {
      segments.append(nil)
      isJournalWhole = false
    }
    segments.append(SegmentUse(segment: segment))
  }

  /// How far the current segment has been read.
  var position: Int64 { segments.last??.readBytes ?? 0 }

  /// Where the entry of a slot is.
  func located(_ slot: Slot) -> Located {
    Located(slot: slot, segment: segment(slot.segment), entries: entries)
  }

  /// Whether the journal is not whole and the tree has not been asked for an entry yet: the record of
  /// a later change may be lost.
  @inline(__always)
  func isDoubtful(_ slot: Slot) -> Bool {
    !isComplete && slot.segment != 0 && !confirmed.contains(slot.recordPlace)
  }

  @inline(__always)
  func segment(_ number: UInt32) -> Segment? {
    let place = Int(number) - Int(firstSegment)
    guard place >= 0, place < segments.count else { return nil }
    return segments[place]?.segment
  }

  mutating func addLive(_ bytes: Int64, to number: UInt32) {
    let place = Int(number) - Int(firstSegment)
    guard place >= 0, place < segments.count else { return }
    segments[place]?.liveBytes += bytes
  }

  /// The bytes of all segments, and those among them that count.
  var journalBytes: (all: Int64, live: Int64) {
    segments.reduce(into: (0, 0)) { sum, use in
      sum.0 += use?.readBytes ?? 0
      sum.1 += use?.liveBytes ?? 0
    }
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
    addLive(Int64(recordLength), to: segment)
    if let replaced {
      addLive(-Int64(replaced.recordLength), to: replaced.segment)
      forget(slot)
    }
  }

  /// Takes an entry out of the index.
  @discardableResult
  mutating func remove(_ hash: KeyHash, _ variant: UInt64) -> Slot? {
    guard let slot = index.find(hash, variant) else { return nil }
    let gone = index[slot]
    forget(slot)
    addLive(-Int64(gone.recordLength), to: gone.segment)
    index.remove(slot)
    return gone
  }

  /// Takes an entry out of the memory tier.
  mutating func forget(_ slot: UInt32) {
    guard index[slot].isInMemory else { return }
    memory.remove(slot)
    index.setInMemory(slot, false)
  }

  /// Lets go of the oldest segments, up to a number, that say nothing any more.
  mutating func release(through number: UInt32) {
    while segments.count > 1, firstSegment <= number,
      (segments.first ?? nil)?.liveBytes ?? 0 <= 0
    {
      segments.removeFirst()
      firstSegment += 1
    }
  }

  /// Forgets all entries.
  mutating func clear() {
    index = EntryIndex(blockBytes: index.blockBytes, in: IndexMemory(in: indexFolder))
    memory.removeAll()
    touched = []
    for place in segments.indices { segments[place]?.liveBytes = 0 }
  }
}
