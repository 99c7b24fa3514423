internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// A check of the journal record by record, which describes the damage that the engine only counts
/// (Docs/Format.md, "Reading").
///
/// No lock is taken here. If something looks wrong, the caller reads the journal again, the last
/// time with the lock.
struct JournalCheck {
  struct Result: Sendable {
    var segments: [PathName] = []
    var suspicions: [Suspicion] = []
    var bytes: UInt64 = 0
    var foreign: [PathName] = []
  }

  private struct Place: Hashable {
    var kind: FindingKind
    var path: [UInt8]
  }

  private let directory: Int32
  private let description: StoreDescription
  private let fileSystem: any FileSystem
  /// Whether a process was killed. Then the bytes after the last record were never promised.
  private let hasDeadSession: Bool
  private let isCancelled: @Sendable () -> Bool
  /// The sequence number that the journal had reached when the store was closed; 0 if that is not
  /// known.
  private let markedEnd: UInt64
  private var result = Result()
  /// The number of suspicions of each kind about each path.
  private var counts: [Place: Int] = [:]
  /// The sequence number of the last record; 0 before the first record, and after damage, if the
  /// next number may be any.
  private var sequence: UInt64 = 0
  private var lastSequence: UInt64 = 0
  /// The bytes at the end of a segment without a seal, as long as the next record may show that
  /// nothing is missing there: a segment with a second name is left with what is torn at its end.
  private var leftEnd: (name: PathName, range: Range<Int64>)?
  /// The oldest segment that is needed, according to the last drop record.
  private var oldestNeeded: UInt64 = 1

  /// Reads all segments.
  ///
  /// - Parameter markedEnd: the sequence number in the closing mark, or 0. The caller reads the
  ///   mark before this call.
  /// - Complexity: O(bytes of the journal). Memory: up to 5 MiB of a segment, and a copy of one
  ///   record (up to 4 MiB).
  static func read(
    _ directory: Int32, _ description: StoreDescription, _ fileSystem: any FileSystem,
    hasDeadSession: Bool, markedEnd: UInt64, _ isCancelled: @escaping @Sendable () -> Bool
  ) -> Result {
    var check = JournalCheck(
      directory: directory, description: description, fileSystem: fileSystem,
      hasDeadSession: hasDeadSession, isCancelled: isCancelled, markedEnd: markedEnd)
    check.readAll()
    check.endLeft(before: nil)
    // Other damage would explain a journal that is too short. Half a record of a process that was killed
    // since is none.
    let isDamaged = check.result.suspicions.contains { $0.kind != .journalTorn }
    if check.lastSequence < markedEnd && !isDamaged && !isCancelled() {
      check.add(
        .journalShort, nil, "its last record is \(check.lastSequence), it had \(markedEnd)")
    }
    return check.result
  }

  /// Returns the suspicion about a journal that cannot be opened or listed.
  static func unreadable(_ error: SystemError) -> Suspicion {
    Suspicion(kind: .unreadable, path: Layout.journal.bytes, detail: error.description)
  }

  private mutating func readAll() {
    let numbers: [UInt32]
    do throws(SystemError) { numbers = try names() } catch {
      return result.suspicions.append(Self.unreadable(error))
    }
    guard let last = numbers.last else {
      add(.journalMissing, nil, "no segment is there")
      return
    }
    var before: UInt32?
    var wasSealed = false
    for number in numbers where !isCancelled() {
      // The last segment was left by a process that was killed before it had sealed the previous
      // one.
      if number == last, before != nil, !wasSealed, isUnused(number) { break }
      if let before, number > before + 1 {
        add(
          .segmentMissing, Layout.segment(before + 1),
          "\(number - before - 1) missing before \(Layout.segment(number).text)")
        sequence = 0
      }
      wasSealed = readSegment(number, isLast: number == last || isEnd(number, of: numbers))
      before = number
    }
    if wasSealed {
      add(.segmentMissing, Layout.segment(last + 1), "the one before it is sealed, so it was there")
    }
    if let first = numbers.first, UInt64(first) > oldestNeeded {
      add(
        .segmentMissing, Layout.segment(UInt32(clamping: oldestNeeded)),
        "\(UInt64(first) - oldestNeeded) missing at the beginning")
    }
  }

  /// Returns whether a segment is followed only by one that was begun and never used.
  private func isEnd(_ number: UInt32, of numbers: [UInt32]) -> Bool {
    guard let last = numbers.last, numbers.count > 1, number == numbers[numbers.count - 2]
    else { return false }
    return isUnused(last)
  }

  private func isUnused(_ number: UInt32) -> Bool {
    (try? fileSystem.status(at: Layout.segment(number), in: directory))?.length
      == UInt64(SegmentHeader.count)
  }

  /// Returns the numbers of the segments. Files with numbers far beyond the others are left out if
  /// they are no segments.
  private mutating func names() throws(SystemError) -> [UInt32] {
    var numbers: [UInt32] = []
    var foreign: [PathName] = []
    try fileSystem.list(directory) { name, _ in
      if let number = Layout.segmentNumber(name) {
        numbers.append(number)
      } else if !Layout.journalNames.contains(name.text) {
        foreign.append(name)
      }
      return numbers.count + foreign.count < CheckLimits.segments
    }
    numbers.sort()
    let kept = Journal.withoutForeign(numbers, isSegment: isSegment)
    result.segments = kept.map(Layout.segment)
    result.foreign = foreign + numbers[kept.count...].map(Layout.segment)
    return kept
  }

  /// Returns whether the engine opens a file as a segment of this store, or refuses the store because of
  /// it.
  private func isSegment(_ number: UInt32) -> Bool {
    guard let file = try? open(number),
      let length = try? fileSystem.status(of: file.raw).length,
      length <= UInt64(Journal.maximumSegmentBytes),
      let head = try? fileSystem.readBytes(file, count: SegmentHeader.count, at: 0)
    else { return false }
    return switch SegmentHeader.read(head) {
    case .header(let header):
      header.storeID == description.id && header.number == UInt64(number)
    case .newerFormat: true
    case .damaged: false
    }
  }

  private func open(_ number: UInt32) throws(SystemError) -> Descriptor {
    let name = Layout.segment(number)
    guard try fileSystem.status(at: name, in: directory).kind == .file else { throw .inputOutput }
    return try fileSystem.open(name, in: directory, [.read])
  }

  /// Reads one segment.
  ///
  /// - Returns: whether it is sealed.
  private mutating func readSegment(_ number: UInt32, isLast: Bool) -> Bool {
    let name = Layout.segment(number)
    do throws(SystemError) {
      let status = try fileSystem.status(at: name, in: directory)
      guard status.kind == .file else {
        add(.wrongKind, name, "\(status.kind.words), should be a file")
        add(.segmentDamaged, name, "no file stands there")
        sequence = 0
        return false
      }
      let file = try open(number)
      let length = try fileSystem.status(of: file.raw).length
      guard length <= UInt64(Journal.maximumSegmentBytes) else {
        add(.segmentDamaged, name, "\(length) bytes, which is longer than any")
        sequence = 0
        return false
      }
      let head = try fileSystem.readBytes(file, count: SegmentHeader.count, at: 0)
      guard isHeader(head, number, name) else { return false }
      result.bytes += length
      return try readRecords(file, number, length: Int(length), isLast: isLast)
    } catch  where error == .notFound {
      add(.segmentMissing, name, "it is missing")
    } catch {
      add(.unreadable, name, error.description)
    }
    sequence = 0
    return false
  }

  private mutating func isHeader(_ head: [UInt8], _ number: UInt32, _ name: PathName) -> Bool {
    switch SegmentHeader.read(head) {
    case .header(let header)
    where header.storeID == description.id && header.number == UInt64(number)
      && header.hashSeed == description.hashSeed:
      return true
    case .header(let header) where header.number != UInt64(number):
      add(.segmentDamaged, name, "its header is that of segment \(header.number)")
    case .header:
      add(.segmentDamaged, name, "its header is that of another store")
    case .newerFormat(let version):
      add(
        .newerFormat, name,
        "it has format \(version), this program reads \(SegmentHeader.newestVersion)")
    case .damaged:
      add(.segmentDamaged, name, "its header is damaged")
    }
    sequence = 0
    return false
  }

  // MARK: Records

  private mutating func readRecords(
    _ file: borrowing Descriptor, _ number: UInt32, length: Int, isLast: Bool
  ) throws(SystemError) -> Bool {
    let name = Layout.segment(number)
    var reader = SegmentReader(
      number, hashSeed: description.hashSeed, from: Int64(SegmentHeader.count))
    var sealedAt: Int64?
    try reader.read(file, upTo: Int64(length), fileSystem) { item in
      switch item {
      case .record(let header, let bytes, let place):
        follow(header, name, place)
        // Safety: the bytes are copied during the call.
        if unsafe note(header, Array(bytes.prefix(header.headCount)), name, place) {
          sealedAt = place + Int64(header.length)
        }
      case .damage(let range):
        addDamage(name, range)
        sequence = 0
      case .tail(let range):
        addEnd(name, range, isLast: isLast)
      }
      return sealedAt == nil && !isCancelled()
    }
    // Nobody reads what is behind the seal.
    return sealedAt != nil
  }

  private mutating func addDamage(_ name: PathName, _ range: Range<Int64>) {
    add(
      .recordDamaged, name,
      "no record from byte \(range.lowerBound) to byte \(range.upperBound)")
  }

  private mutating func addEnd(_ name: PathName, _ range: Range<Int64>, isLast: Bool) {
    let what = "\(range.count) bytes after byte \(range.lowerBound) are no record"
    if isLast, hasDeadSession {
      add(.journalTorn, name, what)
    } else if isLast {
      add(.recordDamaged, name, "\(what), though no process was killed")
    } else {
      endLeft(before: nil)
      leftEnd = (name, range)
    }
  }

  /// Reports the bytes at the end of the segment before, unless its next record follows.
  private mutating func endLeft(before next: UInt64?) {
    guard let end = leftEnd.take(), sequence == 0 || next != sequence + 1 else { return }
    addDamage(end.name, end.range)
    sequence = 0
  }

  private mutating func follow(_ header: RecordFrame.Header, _ name: PathName, _ place: Int64) {
    endLeft(before: header.sequence)
    // A later segment may begin with any number, because those before it may have been dropped.
    if lastSequence == 0, result.suspicions.isEmpty, header.sequence != 1,
      name.bytes == Layout.segment(1).bytes
    {
      add(
        .recordOutOfSequence, name, "byte \(place): the first number is \(header.sequence), not 1")
    } else if sequence != 0, header.sequence <= sequence {
      add(
        .recordDuplicate, name, "byte \(place): number \(header.sequence) after \(sequence)")
    } else if sequence != 0, header.sequence != sequence + 1 {
      add(
        .recordOutOfSequence, name, "byte \(place): number \(header.sequence) after \(sequence)")
    }
    sequence = header.sequence
    lastSequence = max(lastSequence, sequence)
  }

  /// - Returns: whether the record seals the segment.
  private mutating func note(
    _ header: RecordFrame.Header, _ bytes: [UInt8], _ name: PathName, _ place: Int64
  ) -> Bool {
    switch header.type {
    case .put:
      guard let record = PutRecord(checked: bytes),
        KeyHash(hashing: record.key, seed: description.hashSeed) == record.head.keyHash,
        record.head.agrees(withBodyCount: header.bodyCount)
      else {
        add(.recordDamaged, name, "byte \(place): the record of an entry contradicts itself")
        return false
      }
    case .drop:
      let payload = Array(bytes.dropFirst(RecordFrame.headerCount))
      if let through = DropRecord.through(payload: payload) { oldestNeeded = through &+ 1 }
    case .seal: return true
    default: break
    }
    return false
  }

  private mutating func add(_ kind: FindingKind, _ name: PathName?, _ detail: String) {
    var path = Array("journal".utf8)
    if let name { path += [UInt8(ascii: "/")] + name.bytes }
    let place = Place(kind: kind, path: path)
    let same = counts[place, default: 0]
    if same > CheckLimits.segmentFindings { return }
    counts[place] = same + 1
    result.suspicions.append(
      Suspicion(
        kind: kind, path: path, name: name,
        detail: same == CheckLimits.segmentFindings ? "and more like that" : detail))
  }
}
