internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Finding and opening the segments of the journal.
extension JournalReader {
  /// Reads the whole journal into an empty state.
  ///
  /// Missing or unreadable parts make the journal not whole. They are no error, but a newer format
  /// is, a segment that this process may not open, and too many open files.
  func load(_ state: inout StoreState) throws(StoreError) {
    state.removals = nil
    // Read before the segments, because a segment that is begun meanwhile may change it.
    state.journal.lockNumber =
      (try? fileSystem.status(at: Layout.lock, in: place.root.raw).fileNumber) ?? 0
    let damages = state.journal.damages
    var tries = 3
    while true {
      do throws(StoreError) {
        if try loadOnce(&state) || tries == 0 { break }
      } catch {
        // Later, each look-up tries it again.
        if tries == 0 || state.isOpened || !SystemError(error.errno).mayPass { throw error }
      }
      // An error of the system may pass.
      pause(nanoseconds: 16_000_000 >> Int64(tries))
      tries -= 1
      state.forgetJournal()
      state.journal.damages = damages
    }
    if !state.journal.isWhole && !state.journal.segments.isEmpty { try noteRemovals(&state) }
  }

  /// Reads the journal once more, and notes the removed entries. A whole journal seldom needs them.
  ///
  /// - Throws: the error for which it could not be read. It is read again before it is used.
  func noteRemovals(_ state: inout StoreState) throws(StoreError) {
    let (damages, coverage) = (state.journal.damages, state.journal.coverage)
    state.forgetJournal()
    state.removals = Removals()
    defer {
      state.journal.damages = damages
      // A journal of which nothing is left looks whole.
      if coverage != .whole, state.journal.isWhole { state.journal.setPartial() }
    }
    do throws(StoreError) { _ = try loadOnce(&state) } catch {
      setUnreadable(&state, error)
      throw error
    }
  }

  /// Makes a journal that counted as whole count as damaged, because records are lost (an older copy
  /// of it has replaced it, for example). So the tree decides, and the journal is written anew.
  ///
  /// - Parameter sequence: the number of the last record that is known.
  func noteLostRecords(
    _ state: inout StoreState, through sequence: UInt64
  ) throws(StoreError) {
    try noteRemovals(&state)
    state.journal.setCutOff()
    state.journal.damages += 1
    // The next record leaves a gap, for all who read it before the journal is written anew.
    state.journal.sequence = max(state.journal.sequence, sequence)
  }

  /// Reads all segments. An end that cannot be read is left to `readOn`, and other parts that cannot
  /// be read count as damaged.
  ///
  /// - Returns: whether the system could read everything.
  private func loadOnce(_ state: inout StoreState) throws(StoreError) -> Bool {
    let numbers = try journal.numbers()
    guard let first = numbers.first, let last = numbers.last else { return true }
    var isRead = true
    let span = Int(last - first) + 1
    guard span <= numbers.count + Journal.maximumMissingSegments else {
      state.journal.setNotWhole()
      state.journal.firstNumber = last
      return try loadSegment(&state, last)
    }
    state.journal.firstNumber = first
    if let cut = state.journal.refusedCut, !numbers.contains(cut.number) {
      state.journal.refusedCut = nil
    }
    for number in first...last where state.journal.endNumber <= number {
      if let cut = state.journal.refusedCut, number > cut.number { break }
      if number == last && isUnused(number, after: state) { break }
      state.journal.countTail()
      // A next segment that could not be opened is tried again.
      if state.journal.last?.isSealed == true { state.journal.remainder = .read() }
      if state.journal.unread?.mayPass == true { try check(state) }
      state.journal.giveUpUnread()
      if try !loadSegment(&state, number) { isRead = false }
    }
    if state.journal.last?.isSealed == true, state.journal.unread == nil {
      // The next segment is lost. The next writer begins a new one.
      state.journal.segments.append(nil)
      state.journal.noteDamage()
    }
    if state.journal.oldestNeeded < first { state.journal.setPartial() }
    state.journal.hasDroppedFiles =
      first < min(state.journal.oldestNeeded, state.journal.firstNumber)
    return isRead
  }

  /// Returns whether a process was killed after it had begun a segment, and before it had sealed
  /// the previous one. All others still write to the previous one.
  private func isUnused(_ number: UInt32, after state: borrowing StoreState) -> Bool {
    guard let use = state.journal.last, !use.isSealed,
      let segment = try? journal.open(number), journal.isEmpty(segment)
    else { return false }
    // It was to show that a sync has failed. The next record makes it do so.
    if segment.unsynced >= state.journal.firstNumber {
      journal.rollsNext.store(true, ordering: .relaxed)
    }
    return true
  }

  /// - Returns: false if the system could not read the segment.
  private func loadSegment(
    _ state: inout StoreState, _ number: UInt32
  ) throws(StoreError) -> Bool {
    do {
      let segment = try journal.open(number)
      state.journal.segments.append(SegmentUse(segment: segment))
      readOn(&state)
      if state.journal.needsReload { state.journal.remainder = .read() }
      return state.journal.unread == nil
    } catch {
      // A bad sector may stay, and counts as damage. All else that may pass keeps the store closed.
      if error.code == .newerFormat || SystemError(error.errno).mayPass { throw error }
      state.journal.segments.append(nil)
      state.journal.noteDamage()
      return error.code != .inputOutput
    }
  }

  /// Reads everything again, after another process dropped segments that had not been read here, or if
  /// damage was found.
  func reload(_ state: inout StoreState) {
    let damages = state.journal.damages
    var damagedPlace: UInt64?
    for _ in 0..<8 {
      state.forgetJournal()
      state.journal.damages = damages
      do throws(StoreError) {
        try load(&state)
        if state.journal.current != nil, state.journal.isWhole { return noteCutOff(&state) }
        // Damage stays in its place, unlike a segment that is dropped meanwhile.
        if state.journal.damagedPlace == damagedPlace { break }
        damagedPlace = state.journal.damagedPlace
      } catch {
        if SystemError(error.errno).isForNow || error.code == .newerFormat {
          return setUnreadable(&state, error)
        }
      }
    }
    // Also if no segment is left: the entries are found in the tree.
    state.journal.setPartial()
    noteCutOff(&state)
    upkeep.request(.reconcile)
  }

  /// Notes that the journal cannot be read now. Nothing is decided or appended before it can be.
  func setUnreadable(_ state: inout StoreState, _ error: StoreError) {
    refuse(&state, error)
    if state.refusal != nil { return }
    state.journal.forgetSegments()
    state.journal.remainder = .outdated(error.errno == 0 ? .inputOutput : SystemError(error.errno))
  }
}

extension Limits {
  /// Makes limits from a record.
  init(_ record: LimitsRecord) {
    func optional(_ place: Int) -> UInt64? {
      record.values[place] == .max ? nil : record.values[place]
    }
    self.init(
      bytes: optional(0), entries: optional(1), entryBytes: optional(2),
      freeBytes: record.values[3], pinnedBytes: optional(4),
      accounting: Accounting(rawValue: record.values[5]) ?? .allocated)
  }

  /// The record of the limits.
  var record: LimitsRecord {
    LimitsRecord(values: [
      bytes ?? .max, entries ?? .max, entryBytes ?? .max, freeBytes, pinnedBytes ?? .max,
      accounting.rawValue,
    ])
  }
}
