internal import CacheFormat
internal import CacheSystem

// Finding and opening the segments of the journal.
extension Store {
  /// Opens a segment and checks that it is one of this store.
  func openSegment(_ number: UInt32) throws(StoreError) -> Segment {
    let name = Layout.segment(number)
    let file = "\(path)/journal/\(name.text)"
    let opened = try system(file) { () throws(SystemError) in
      try fileSystem.open(name, in: place.journal, isReadOnly ? [.read] : [.read, .write])
    }
    let head = try system(file) { () throws(SystemError) in
      let status = try fileSystem.status(of: opened.raw)
      guard status.kind == .file else { throw .inputOutput }
      guard status.length <= UInt64(Self.maximumSegmentBytes) else { throw .tooLarge }
      return try fileSystem.readBytes(opened, count: SegmentHeader.count, at: 0)
    }
    switch SegmentHeader.read(head) {
    case .header(let header)
    where header.storeID == place.description.id && header.number == UInt64(number):
      return Segment(number: number, file: opened, created: header.created)
    case .newerFormat(let version):
      throw .newerFormat(file, "it has format \(version), this program reads 1")
    default:
      throw StoreError(
        .damaged, path: file, cause: "it is no segment of this store's journal",
        remedy: "what it said is taken from the tree")
    }
  }

  /// The numbers of the segments that are there, in order.
  func segmentNumbers() throws(StoreError) -> [UInt32] {
    var numbers: [UInt32] = []
    do throws(SystemError) {
      try fileSystem.list(place.journal.raw) { name, _ in
        if let number = Layout.segmentNumber(name) { numbers.append(number) }
        return true
      }
    } catch {
      throw StoreError(error, path: "\(path)/journal")
    }
    return numbers.sorted()
  }

  /// Reads the whole journal into an empty state.
  ///
  /// What is missing or unreadable makes the journal not whole; it is never an error, except that a
  /// newer version wrote it.
  func load(_ state: inout StoreState) throws(StoreError) {
    state.removals = nil
    // Asked before the segments are: one that is begun meanwhile changes it.
    state.lockNumber =
      (try? fileSystem.status(at: Layout.lock, in: place.root.raw).fileNumber) ?? 0
    try loadOnce(&state)
    if !state.isJournalWhole && !state.segments.isEmpty { try noteRemovals(&state) }
  }

  /// Reads the journal once more, for what was removed. Most are whole, and need none of that.
  func noteRemovals(_ state: inout StoreState) throws(StoreError) {
    let damages = state.journalDamages
    state.clear()
    state.segments = []
    state.sequence = 0
    state.removals = Removals()
    try loadOnce(&state)
    state.journalDamages = damages
  }

  private func loadOnce(_ state: inout StoreState) throws(StoreError) {
    let numbers = withoutForeign(try segmentNumbers())
    guard let first = numbers.first, let last = numbers.last else { return }
    let span = Int(last - first) + 1
    guard span <= numbers.count + Self.maximumMissingSegments else {
      state.isJournalWhole = false
      state.firstSegment = last
      try loadSegment(&state, last)
      return
    }
    state.firstSegment = first
    for number in first...last where state.firstSegment + UInt32(state.segments.count) <= number {
      if number == last && isUnused(number, after: state) { break }
      countTail(&state)
      try loadSegment(&state, number)
    }
    if (state.segments.last ?? nil)?.isSealed == true {
      // What came after it is lost; whoever writes begins a new one.
      state.segments.append(nil)
      state.isJournalWhole = false
      state.journalDamages += 1
    }
    if state.oldestNeeded < first { state.isJournalWhole = false }
    state.hasDroppedFiles = first < min(state.oldestNeeded, state.firstSegment)
    state.isComplete = state.isJournalWhole
  }

  /// Counts what stands at the end of a segment and is no record, where another segment follows.
  func countTail(_ state: inout StoreState) {
    guard let last = state.segments.indices.last else { return }
    let torn = state.tornBytes
    state.segments[last]?.readBytes += torn
    state.tornBytes = 0
  }

  /// Segments that may be missing between two others before the numbers count as nonsense.
  package static var maximumMissingSegments: Int { 100_000 }

  /// Leaves out numbers far beyond the others, of files that are no segments: they are somebody
  /// else's, and no store has a billion segments.
  private func withoutForeign(_ numbers: [UInt32]) -> [UInt32] {
    var kept = numbers[...]
    while let start = kept.indices.last(where: { place in
      let before = place == kept.startIndex ? 0 : kept[place - 1]
      return Int(kept[place] - before) > Self.maximumMissingSegments
    }), kept[start...].allSatisfy({ !isSegment($0) }) {
      kept = kept[..<start]
    }
    return Array(kept)
  }

  private func isSegment(_ number: UInt32) -> Bool {
    do {
      _ = try openSegment(number)
      return true
    } catch {
      return error.code == .newerFormat
    }
  }

  /// Whether a process was killed after it had begun a segment, and before it had sealed the one
  /// before: all others still write to that one.
  private func isUnused(_ number: UInt32, after state: borrowing StoreState) -> Bool {
    guard let use = state.segments.last ?? nil, !use.isSealed,
      let segment = try? openSegment(number),
      let length = try? fileSystem.length(of: segment.file.raw)
    else { return false }
    return length == SegmentHeader.count
  }

  private func loadSegment(_ state: inout StoreState, _ number: UInt32) throws(StoreError) {
    do {
      let segment = try openSegment(number)
      state.segments.append(SegmentUse(segment: segment))
      readOn(&state)
      state.needsReload = false
    } catch  where error.code == .newerFormat {
      throw error
    } catch {
      state.segments.append(nil)
      state.isJournalWhole = false
      state.journalDamages += 1
    }
  }

  /// Reads everything again, after another process dropped segments that had not been read here.
  func reload(_ state: inout StoreState) {
    for _ in 0..<8 {
      state.clear()
      state.segments = []
      state.sequence = 0
      state.needsReload = false
      state.isJournalWhole = true
      do throws(StoreError) {
        try load(&state)
        if state.current != nil, state.isJournalWhole { return }
      } catch {
        refuse(&state, error)
        if state.refusal != nil { return }
      }
    }
    state.isComplete = false
    upkeep.request(.reconcile, of: self)
  }
}

extension Limits {
  /// Reads the limits of a record.
  init(_ record: LimitsRecord) {
    func optional(_ place: Int) -> UInt64? {
      record.values[place] == .max ? nil : record.values[place]
    }
    self.init(
      bytes: optional(0), entries: optional(1), entryBytes: optional(2),
      freeBytes: record.values[3], pinnedBytes: optional(4),
      accounting: Accounting(rawValue: record.values[5]) ?? .allocated)
  }

  /// The limits as a record has them.
  var record: LimitsRecord {
    LimitsRecord(values: [
      bytes ?? .max, entries ?? .max, entryBytes ?? .max, freeBytes, pinnedBytes ?? .max,
      accounting.rawValue,
    ])
  }
}
