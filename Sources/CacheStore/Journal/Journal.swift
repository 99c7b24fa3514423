internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// The journal of a store on disk: its directory, its lock, and its segments as files.
///
/// `JournalState` is the part that this process has read. `JournalReader` reads the journal into the
/// index, `JournalWriter` adds records, `Compactor` removes dead ones.
package final class Journal: Sendable {
  /// The path of the directory.
  let path: String
  let place: StorePlace
  let sizes: JournalSizes
  /// The nanoseconds for which an entry may be in the log only; 0 if this process stores no bodies
  /// there.
  let settlingDelay: Int64
  /// The sync of the journal, one for several waiting threads.
  let sync = JournalSync()
  /// Whether the next append begins a new segment.
  let rollsNext = Atomic<Bool>(false)
  /// The least version of the segments that this process makes.
  let version = Atomic<UInt32>(1)
  private let clock: any WallClock
  private let bootName: [UInt8]?
  /// One thread of this process appends at a time.
  private let turn = BargingMutex()

  private var files: any FileSystem { place.fileSystem }
  private var hashSeed: UInt64 { place.description.hashSeed }

  /// The bound of the length of a segment in bytes. Records that are appended together may exceed
  /// `JournalSizes.segmentBytes`, but not by that much. A longer file is no segment, and is not
  /// read.
  package static var maximumSegmentBytes: Int64 {
    2 * JournalSizes().segmentBytes + 2 * Int64(RecordFrame.maximumLength)
  }

  /// The most segments that may be missing between two others. A number after a larger gap is not
  /// that of a segment of this journal.
  package static var maximumMissingSegments: Int { 100_000 }

  init(_ place: StorePlace, _ options: Options) {
    self.place = place
    path = "\(place.path)/journal"
    sizes = options.journal
    settlingDelay = options.isReadOnly ? 0 : options.settling.nanoseconds
    clock = options.clock
    bootName = options.bootName
  }

  /// Returns the path of a segment.
  func path(of number: UInt32) -> String { "\(path)/\(Layout.segment(number).text)" }

  // MARK: Locks

  /// Runs `body` with the lock of the journal. Only its holder may append.
  func withLock<R: Sendable>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try turn.withLock { () throws(StoreError) -> R in
      do throws(SystemError) {
        try place.lock.take(in: place.root)
      } catch {
        throw StoreError(error, path: "\(place.path)/lock")
      }
      defer { place.lock.release() }
      return try body()
    }
  }

  /// Runs `body` with the lock of compaction, an flock(2) of the directory `journal`. One process
  /// at a time compacts.
  ///
  /// - Parameter isWaiting: whether to wait for the lock. Otherwise nothing is done if somebody
  ///   else has it.
  func withCompactionLock(
    isWaiting: Bool, _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    let turn = try system(path) { () throws(SystemError) -> Descriptor? in
      let turn = try files.open(Layout.journal, in: place.root, [.read, .directory])
      if isWaiting {
        try files.lock(turn)
      } else if try !files.tryLock(turn) {
        return nil
      }
      return turn
    }
    guard let turn else { return }
    defer { files.unlock(turn.raw) }
    try body()
  }

  // MARK: Finding segments

  /// Returns the numbers of the segments, in order. Files with numbers far beyond the others are
  /// left out if they are no segments.
  func numbers() throws(StoreError) -> [UInt32] {
    var numbers: [UInt32] = []
    try system(path) { () throws(SystemError) in
      try files.list(place.journal.raw) { name, _ in
        if let number = Layout.segmentNumber(name) { numbers.append(number) }
        return true
      }
    }
    return Self.withoutForeign(numbers.sorted()) { isSegment($0) == true }
  }

  /// Returns the numbers without those far beyond the others, if none of these is of a segment.
  package static func withoutForeign(
    _ numbers: [UInt32], isSegment: (UInt32) -> Bool
  ) -> [UInt32] {
    var kept = numbers[...]
    while let start = kept.indices.last(where: { place in
      let before = place == kept.startIndex ? 0 : kept[place - 1]
      return Int(kept[place] - before) > maximumMissingSegments
    }), kept[start...].allSatisfy({ !isSegment($0) }) {
      kept = kept[..<start]
    }
    return Array(kept)
  }

  /// Returns whether a file is a segment of this store; `nil` if the system cannot tell now.
  private func isSegment(_ number: UInt32, isAgain: Bool = false) -> Bool? {
    do throws(StoreError) {
      _ = try open(number)
      return true
    } catch {
      if error.code == .newerFormat { return true }
      let cause = SystemError(error.errno)
      // A device may fail once.
      if cause == .inputOutput, !isAgain { return isSegment(number, isAgain: true) }
      return cause.mayPass ? nil : false
    }
  }

  /// Opens a segment and checks that it is one of this store.
  func open(_ number: UInt32) throws(StoreError) -> Segment {
    let name = Layout.segment(number)
    let path = path(of: number)
    let opened = try system(path) { () throws(SystemError) in
      try files.open(name, in: place.journal, place.isReadOnly ? [.read] : [.read, .write])
    }
    let head = try system(path) { () throws(SystemError) in
      let status = try files.status(of: opened.raw)
      guard status.kind == .file else { throw .inputOutput }
      guard status.length <= UInt64(Self.maximumSegmentBytes) else { throw .tooLarge }
      return try files.readBytes(opened, count: SegmentHeader.count, at: 0)
    }
    switch SegmentHeader.read(head) {
    case .header(let header)
    where header.storeID == place.description.id && header.number == UInt64(number):
      return Segment(header, file: opened)
    case .newerFormat(let version):
      throw .newerFormat(
        path, "it has format \(version), this program reads \(SegmentHeader.newestVersion)")
    default:
      throw StoreError(
        .damaged, path: path, cause: "it is no segment of this store's journal",
        remedy: "its entries are restored from their files")
    }
  }

  /// Returns whether a segment has no record: a process was killed when it had just begun it.
  func isEmpty(_ segment: Segment) -> Bool {
    (try? files.length(of: segment.file.raw)) == Int64(SegmentHeader.count)
  }

  /// Returns whether a segment has records; false if its length cannot be read.
  func hasRecords(_ segment: Segment) -> Bool {
    (try? files.length(of: segment.file.raw)) ?? 0 > Int64(SegmentHeader.count)
  }

  /// Returns whether a segment still has its name; not if it was dropped.
  func isThere(_ segment: Segment) -> Bool {
    guard let own = try? files.status(of: segment.file.raw),
      let named = try? files.status(at: Layout.segment(segment.number), in: place.journal.raw)
    else { return false }
    return own.identity == named.identity
  }

  // MARK: Changing segments. The caller holds the lock.

  /// Makes a segment, and returns its number.
  ///
  /// An empty segment with that number is used, or replaced if it has an older version, or hides that a
  /// sync of this process has failed. Any other file keeps its name, and the next free number is taken.
  ///
  /// - Parameters:
  ///   - version: the least version of its format.
  ///   - first: the oldest segment that is still needed.
  /// - Throws: `newerFormat` if a newer program has begun the segment.
  func make(
    _ number: UInt32, version: UInt32, neededFrom first: UInt32
  ) throws(StoreError) -> UInt32 {
    var number = number
    while try isTaken(number) {
      if let found = try emptySegment(number) {
        let failed = sync.oldestFailed
        let hidesFailure = failed != 0 && (found.unsynced < first || found.unsynced > failed)
        if found.version < version || hidesFailure { break }
        // Another process may have made it without a sync.
        if place.isDurable { try synchronize(found) }
        return number
      }
      number += 1
    }
    guard number <= Layout.lastSegment else {
      throw StoreError(
        .inputOutput, path: self.path(of: number), cause: "the journal has reached the last number",
        remedy: "move its segments away: the entries are restored from their files")
    }
    try write(number, version: version)
    return number
  }

  /// Returns the segment with a number if it has no records; `nil` if it has, is damaged, or is another
  /// store's.
  ///
  /// - Throws: an error if it cannot be opened for now, or has a newer format.
  private func emptySegment(_ number: UInt32) throws(StoreError) -> Segment? {
    do throws(StoreError) {
      let found = try open(number)
      return isEmpty(found) ? found : nil
    } catch {
      if error.code == .newerFormat || SystemError(error.errno).mayPass { throw error }
      return nil
    }
  }

  /// Makes a segment survive a loss of power.
  private func synchronize(_ segment: Segment) throws(StoreError) {
    try system(path(of: segment.number)) { () throws(SystemError) in
      try files.synchronize(segment.file, names: true)
      try files.synchronize(place.journal, names: true)
    }
  }

  /// Returns whether there is a file with the name of a segment.
  private func isTaken(_ number: UInt32) throws(StoreError) -> Bool {
    do throws(SystemError) {
      _ = try files.status(at: Layout.segment(number), in: place.journal.raw)
      return true
    } catch {
      if error == .notFound { return false }
      throw StoreError(error, path: path(of: number))
    }
  }

  /// Writes the file of a new segment, and gives it its name when it is complete.
  private func write(_ number: UInt32, version: UInt32) throws(StoreError) {
    let header = SegmentHeader(
      version: version, storeID: place.description.id, hashSeed: hashSeed, number: UInt64(number),
      unsynced: sync.oldestFailed, created: Timestamp(nanoseconds: clock.now()))
    let new = Layout.newSegment
    let isSynced = place.isDurable
    try system(path(of: number)) { () throws(SystemError) in
      try freeNewName()
      let file = try files.open(new, in: place.journal, [.read, .write, .create, .exclusive])
      try files.write(file, header.bytes)
      if isSynced { try files.synchronize(file, names: true) }
      try files.rename(
        new, in: place.journal.raw, to: Layout.segment(number), in: place.journal.raw)
      if isSynced { try files.synchronize(place.journal, names: true) }
    }
  }

  /// Frees the temporary name of new segments. A killed process may have left a file there.
  func freeNewName() throws(SystemError) {
    try StrayQuarantine(files, clock).free(
      Layout.newSegment, in: place.journal, of: Layout.journal.bytes, to: place.quarantine)
  }

  /// Writes records at the end of a segment. If that fails, a record that is not whole is cut off.
  /// Those before it stay, because others may have read them.
  ///
  /// - Parameters:
  ///   - position: the end of the segment.
  ///   - sequence: the number of the last record before these.
  /// - Returns: the written bytes.
  func write(
    _ records: [[UInt8]], to segment: Segment, at position: Int64, after sequence: UInt64
  ) throws(StoreError) -> [UInt8] {
    var placed = records
    var end = position
    for number in placed.indices {
      RecordFrame.place(
        &placed[number], sequence: sequence &+ UInt64(number) &+ 1,
        seed: segment.seed(hashSeed, end))
      end += Int64(placed[number].count)
    }
    // Mostly there is one record, which is not copied.
    let bytes = placed.count == 1 ? placed[0] : Array(placed.joined())
    do throws(SystemError) {
      try files.write(segment.file, bytes, at: position)
    } catch {
      let length = (try? files.length(of: segment.file.raw)) ?? position
      var whole = position
      for record in placed {
        if whole + Int64(record.count) > length { break }
        whole += Int64(record.count)
      }
      try? files.truncate(segment.file, to: whole)
      throw StoreError(error, path: path(of: segment.number))
    }
    return bytes
  }

  /// Cuts a segment off at a position.
  func cut(_ segment: Segment, at position: Int64) throws(StoreError) {
    try system(path(of: segment.number)) { () throws(SystemError) in
      try files.truncate(segment.file, to: position)
    }
  }

  /// Removes the segments before a number. What has such a name and is none, or cannot be read, goes to the
  /// quarantine: it may be somebody's, or have records.
  ///
  /// - Returns: whether they are gone.
  func removeSegments(before first: UInt32) throws(StoreError) -> Bool {
    var areGone = true
    for number in try numbers() where number < first {
      do throws(SystemError) {
        let name = Layout.segment(number)
        switch isSegment(number) {
        case true?: try files.removeFile(name, in: place.journal.raw)
        case false?:
          try StrayQuarantine(files, clock).move(
            name, in: place.journal.raw, of: Layout.journal.bytes, to: place.quarantine)
        case nil: areGone = false
        }
      } catch { areGone = areGone && error == .notFound }
    }
    return areGone
  }

  // MARK: The closing mark

  /// The sequence number that the journal must have reached, according to the closing mark; `nil`
  /// if there is no valid mark.
  var markedEnd: UInt64? {
    place.lock.withFile {
      Self.markedEnd($0, hashSeed: hashSeed, files, boot: bootName)
    }
  }

  /// The same for a mark whose records were synced, in whatever run of the machine.
  var durableEnd: UInt64? {
    place.lock.withFile { Self.markedEnd($0, hashSeed: hashSeed, files, boot: nil) }
  }

  /// Returns the sequence number in the closing mark in the file `lock`; `nil` if there is no valid
  /// mark.
  ///
  /// - Parameter boot: the name of this run of the machine.
  package static func markedEnd(
    _ lock: borrowing Descriptor, hashSeed: UInt64, _ files: any FileSystem,
    boot: [UInt8]? = BootName.current
  ) -> UInt64? {
    guard let bytes = try? files.readBytes(lock, count: ClosingMark.count, at: 0),
      let mark = ClosingMark(decoding: bytes, hashSeed: hashSeed),
      mark.boot == nil || mark.boot == number(ofBoot: boot)
    else { return nil }
    return mark.sequence
  }

  /// Writes the closing mark. The caller holds the lock, and has synced the journal.
  func markEnd(_ sequence: UInt64) {
    // After a loss of power the mark may be on disk and the records before it not, unless they were
    // synced. So a mark without a sync holds for this run of the machine only.
    let boot = place.durability == .full ? nil : Self.number(ofBoot: bootName)
    if place.durability != .full && boot == nil { return }
    let mark = ClosingMark(sequence: sequence, boot: boot).encoded(hashSeed: hashSeed)
    if place.lock.mark != mark { try? place.lock.write(mark, of: place, clock) }
  }

  /// Returns the number in closing marks for the name of a run of the machine.
  private static func number(ofBoot name: [UInt8]?) -> UInt64? {
    name.map { max(1, Checksum.of($0)) }
  }
}
