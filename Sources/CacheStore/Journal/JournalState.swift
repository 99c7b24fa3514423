internal import CacheFormat
internal import CacheSystem

/// The part of the journal that this process has read; a part of the state of a store.
struct JournalState {
  /// The segments from `firstNumber` on, with `nil` for a missing one.
  var segments: [SegmentUse?] = [] {
    didSet {
      tail = JournalTail.Mark(file: current?.file.raw ?? -1, position: position)
      // While the next segment cannot be opened, each look-up tries it again.
      sharedTail.set(last?.isSealed == true ? JournalTail.Mark() : tail)
    }
  }
  /// The number of the first segment.
  var firstNumber: UInt32 = 1
  /// The file of the last segment, and the bytes of it that have been read. Every look-up compares
  /// them.
  private(set) var tail = JournalTail.Mark()
  /// A copy of `tail` for threads that do not hold the state; nothing if another segment follows.
  let sharedTail: JournalTail
  /// The inode of the file `lock` when this process last checked whether another segment follows a
  /// last one without a seal.
  var lockNumber: UInt64 = 0
  /// The inode of the file `lock` when this process last looked for an interrupted removal of all entries.
  var clearLockNumber: UInt64 = 0
  /// The number of look-ups that found the journal unchanged, modulo 256.
  var quietLooks: UInt8 = 0

  /// The sequence number of the last record that was read.
  var sequence: UInt64 = 0
  /// The sequence number of the last record when this process opened the store.
  var openedSequence: UInt64 = 0
  /// The end of the journal when this process opened the store, as `Slot.recordPlace`. A loss of power
  /// before that may have taken later records, and files of entries that had been settled.
  var openedPlace: UInt64 = 0
  /// Whether the machine may have restarted after the store was used last. Then the last records were
  /// lost that were not synced, and so not promised.
  var hasRestarted = false
  /// The oldest segment that is still needed, according to the last drop record.
  var oldestNeeded: UInt32 = 1
  /// Whether there are files of segments that the journal has dropped.
  var hasDroppedFiles = false

  /// What the index has of the entries of the store.
  var coverage = Coverage.whole
  /// Whether everything that was ever written to the journal could be read.
  var isWhole: Bool { coverage == .whole }
  /// While the index is not complete: the records that were compared with the tree, as
  /// `Slot.recordPlace`.
  var confirmed: Set<UInt64> = []
  /// What follows the part that was read.
  var remainder = JournalRemainder.read()
  /// Whether an end was given up, and nothing could be read since.
  var hasGivenUp = false
  /// The damaged or missing parts that were found.
  var damages: UInt64 = 0
  /// The end of the last such part, as `Slot.recordPlace`. What it replaced or removed before is not
  /// known.
  private(set) var damagedPlace: UInt64 = 0
  /// The sequence number before the last such part.
  private var damagedAfter: UInt64 = 0
  /// The end of what counts of the journal, if the system refuses to cut off the rest.
  var refusedCut: RefusedCut?
  /// The sequence number of the last record that was read before somebody cut off a part of the journal;
  /// 0 once that was noted as damage.
  var sequenceBeforeCut: UInt64 = 0
  /// The lengths of the journal at which compaction is not tried, because it has failed.
  var failsToCompact: Range<Int64> = 0..<0
  /// Whether the journal had remove records on request when the store was opened. The keys and
  /// fields of those entries may still be in it.
  var hasRemoved = false

  init(_ sharedTail: JournalTail) { self.sharedTail = sharedTail }

  /// The error for which the rest of the journal could not be read; `nil` if it was read.
  var unread: SystemError? {
    switch remainder {
    case .read: nil
    case .unread(let error): error
    case .outdated(let error): error
    }
  }
  /// Whether the journal has to be read again.
  var needsReload: Bool { if case .outdated = remainder { true } else { false } }
  /// The bytes at the end that are no record.
  var tornBytes: Int64 { if case .read(let torn) = remainder { torn } else { 0 } }

  /// The first and the last segment; `nil` if there is none, or if it is missing.
  var first: SegmentUse? { segments.first ?? nil }
  var last: SegmentUse? { segments.last ?? nil }

  /// The segment that is being written and read.
  var current: Segment? { last?.segment }

  /// The number of bytes of the current segment that have been read.
  var position: Int64 { last?.readBytes ?? 0 }

  /// The end of what has been read; `nil` without a current segment.
  var end: AppendedPlace? { current.map { AppendedPlace(segment: $0, end: position) } }

  /// The number after that of the last segment.
  var endNumber: UInt32 { firstNumber + UInt32(segments.count) }

  /// Whether records in the current segment may carry bodies: it has format 2.
  var carriesBodies: Bool { current?.version ?? 1 > 1 }

  /// The number of the next segment.
  ///
  /// A journal that was lost does not begin with 1 again. The missing number shows that there may
  /// be entries that are not in it, until it has been written anew.
  var nextNumber: UInt32 {
    segments.isEmpty && !isWhole ? endNumber + 1 : endNumber
  }

  /// The bytes of all segments without bodies, and of the put records among them that the index
  /// points to.
  ///
  /// - Complexity: O(segments).
  var bytes: (all: Int64, live: Int64) {
    segments.reduce(into: (0, 0)) { sum, use in
      guard let use else { return }
      sum.0 += use.readBytes - use.bodyBytes
      sum.1 += use.liveBytes
    }
  }

  /// The bytes of the bodies in the log, and of those among them that are nowhere else.
  ///
  /// - Complexity: O(segments).
  var bodies: (all: Int64, unsettled: Int64) {
    segments.reduce(into: (0, 0)) { sum, use in
      sum.0 += use?.bodyBytes ?? 0
      sum.1 += use?.unsettledBytes ?? 0
    }
  }

  /// Returns whether the journal ends before a record with this number, which a file has. The first
  /// number after the end proves nothing: a killed process may have left the file.
  func isLost(_ sequence: UInt64) -> Bool { sequence > max(openedSequence, self.sequence) &+ 1 }

  /// Returns whether a part of the journal after the record of an entry is lost, or cannot be read.
  @inline(__always)
  func hasLost(after slot: Slot) -> Bool {
    unread != nil || !isWhole && slot.recordPlace < damagedPlace
  }

  /// Returns whether a segment has bodies of files.
  func hasBodies(_ number: UInt32) -> Bool {
    guard let place = place(of: number), let use = segments[place] else { return false }
    return use.bodyBytes > 0 || use.unsettledEntries > 0
  }

  /// The bytes that a new journal would not have.
  var spareBytes: Int64 {
    let (heads, logged) = (bytes, bodies)
    return heads.all - heads.live + logged.all - logged.unsettled
  }

  /// Returns the segment with a number; `nil` if it is missing or dropped.
  @inline(__always)
  func segment(_ number: UInt32) -> Segment? {
    place(of: number).flatMap { segments[$0]?.segment }
  }

  @inline(__always)
  private func place(of number: UInt32) -> Int? {
    let place = Int(number) - Int(firstNumber)
    return place >= 0 && place < segments.count ? place : nil
  }

  /// Adds a segment after the last one. Numbers that were left out, because other files have those
  /// names, count as missing: the journal is written anew then, though nothing is lost.
  mutating func add(_ segment: Segment) {
    if segments.isEmpty { firstNumber = segment.number }
    while segment.number > endNumber {
      segments.append(nil)
      if isWhole { coverage = .completed }
      damagedPlace = max(damagedPlace, place(of: position))
    }
    segments.append(SegmentUse(segment: segment))
  }

  /// Adds a segment after one that was left without a seal.
  mutating func goOn(with segment: Segment) {
    countTail()
    refusedCut = nil
    add(segment)
  }

  /// Forgets what was read, so that all of it is read again.
  mutating func forgetSegments() {
    segments = []
    remainder = .read()
    confirmed = []
    sequence = 0
    damagedPlace = 0
    damagedAfter = 0
  }

  /// Notes that a part before the position is damaged or missing.
  mutating func noteDamage() {
    setNotWhole()
    damages += 1
    damagedAfter = sequence
  }

  /// Returns whether there is anything after the record with a number, be it damaged.
  func goesOn(after marked: UInt64) -> Bool {
    sequence > marked
      || sequence == marked && (tornBytes > 0 || damages > 0 && damagedAfter == marked)
  }

  /// Notes that records may be missing: the tree is searched, too. What was compared with it may have
  /// changed by one of them.
  mutating func setPartial() {
    coverage = .partial
    confirmed = []
  }

  /// Notes that something is missing before an offset of the current segment, by default before the
  /// position.
  mutating func setNotWhole(before end: Int64? = nil) {
    setPartial()
    damagedPlace = max(damagedPlace, place(of: end ?? position))
  }

  /// Notes that a record before an offset of the current segment is missing. After a restart it is one
  /// that was not promised.
  mutating func noteGap(before end: Int64) {
    damages += 1
    if hasRestarted { setPartial() } else { setNotWhole(before: end) }
  }

  /// Notes that records are lost that followed the end at opening. What this process and others have
  /// appended since then is later, and not in doubt. After a restart nothing is.
  mutating func setCutOff() {
    setPartial()
    if !hasRestarted { damagedPlace = max(damagedPlace, openedPlace) }
  }

  /// Returns an offset in the current segment as `Slot.recordPlace`.
  private func place(of offset: Int64) -> UInt64 {
    let number = firstNumber + UInt32(max(0, segments.count - 1))
    return UInt64(number) << 32 | UInt64(max(0, offset))
  }

  /// Notes that this process has opened the store.
  mutating func setOpened() { openedPlace = place(of: position) }

  /// Notes that the rest, which could not be read, counts as damaged.
  mutating func giveUpUnread() {
    if unread == nil { return }
    remainder = .read()
    hasGivenUp = true
    noteDamage()
  }

  /// Notes that the current segment has been read up to a position.
  mutating func setRead(_ position: Int64) { segments[segments.count - 1]?.readBytes = position }

  /// Counts the torn bytes of the current segment as a part of it, because another segment follows.
  mutating func countTail() {
    guard let last = segments.indices.last, case .read(let torn) = remainder else { return }
    segments[last]?.readBytes += torn
    remainder = .read()
  }

  /// Adds the record of a slot to the live bytes of its segment.
  ///
  /// - Parameter sign: 1, or -1 to take it away.
  mutating func addLive(of slot: Slot, _ sign: Int64) {
    guard let place = place(of: slot.segment) else { return }
    segments[place]?.liveBytes += sign * Int64(slot.keptBytes)
    guard slot.isUnsettled else { return }
    segments[place]?.unsettledEntries += Int(sign)
    segments[place]?.unsettledBytes += sign * Int64(slot.loggedBytes)
  }

  /// Counts the body of a record in the current segment. An embedded one is a part of its record.
  mutating func addBody(_ bytes: Int, isEmbedded: Bool) {
    segments[segments.count - 1]?.carriesBodies = true
    if !isEmbedded { segments[segments.count - 1]?.bodyBytes += Int64(bytes) }
  }

  /// Notes that the index points to no record any more.
  mutating func clearLive() {
    failsToCompact = 0..<0
    for place in segments.indices {
      segments[place]?.liveBytes = 0
      segments[place]?.unsettledEntries = 0
      segments[place]?.unsettledBytes = 0
    }
  }

  /// Whether the sync of a segment that is still needed has failed, in this process or another one,
  /// before a later one was begun.
  var hasUnsynced: Bool { segments.contains { $0?.segment.unsynced ?? 0 >= firstNumber } }

  /// Whether the newest segment shows that the sync of an older one has failed.
  func isShownUnsynced(_ number: UInt32) -> Bool {
    guard let current, number < current.number else { return false }
    return firstNumber <= current.unsynced && current.unsynced <= number
  }

  /// Forgets the oldest segments, up to a number, that have no live record.
  mutating func release(through number: UInt32) {
    while segments.count > 1, firstNumber <= number, first?.liveBytes ?? 0 <= 0 {
      segments.removeFirst()
      firstNumber += 1
    }
  }
}

/// What the index has of the entries of a store.
enum Coverage {
  /// All, and the whole journal could be read.
  case whole
  /// All: those that the journal has lost were found in the tree. It has to be written anew.
  case completed
  /// Those of the part of the journal that could be read. The tree may have others, or other versions.
  case partial
}

/// What follows the part of the journal that this process has read.
enum JournalRemainder {
  /// No record, when it was read last; only bytes that are none: a write in progress, the rest of one that
  /// a killed process left, or what could not be cut off.
  case read(torn: Int64 = 0)
  /// Unknown: it cannot be read now. That may pass, so it is no damage: nothing is decided, and nothing is
  /// appended, before it was read or given up.
  case unread(SystemError)
  /// The part that was read does not count any more, because others have dropped segments that this process
  /// had not read; or nothing could be read, because of an error. Everything has to be read again.
  case outdated(SystemError? = nil)
}

/// The end of the journal that counts, in a segment whose rest the system refuses to cut off.
struct RefusedCut {
  let number: UInt32
  let end: Int64
  private let length: UInt64
  private let modified: Int64

  init(number: UInt32, end: Int64, of status: FileStatus) {
    (self.number, self.end) = (number, end)
    (length, modified) = (status.length, status.modified)
  }

  /// Returns whether nobody has changed the file since.
  func isPending(_ status: FileStatus) -> Bool {
    status.length == length && status.modified == modified
  }
}

extension JournalState {
  /// Returns whether the numbers of the segments agree with each other.
  ///
  /// - Complexity: O(segments).
  func checkInvariants() -> Bool {
    if tornBytes < 0 || firstNumber == 0 { return false }
    for (place, use) in segments.enumerated() {
      guard let use else { continue }
      if use.segment.number != firstNumber + UInt32(place) { return false }
      // A sealed segment is not the last one: another follows, is missing, or cannot be opened yet.
      if use.isSealed, place == segments.count - 1, isWhole, !needsReload, unread == nil {
        return false
      }
      if use.liveBytes < 0 || use.liveBytes > use.readBytes - use.bodyBytes { return false }
      if use.unsettledBytes < 0 || use.unsettledBytes > use.bodyBytes { return false }
    }
    return tail.file == current?.file.raw ?? -1 && tail.position == position
  }
}
