internal import CacheFormat
internal import CacheSystem

// Reading the journal from the position that was reached: all of it when the store is opened, later
// the records that other processes (or threads of this one) have appended. No lock of the journal
// is needed, so the last record may be half written.
extension Catalog {
  /// Brings the index up to date with the journal.
  ///
  /// - Complexity: one ioctl(2) if there is nothing new.
  @inline(__always)
  func follow(_ state: inout StoreState) {
    guard state.journal.tail.file >= 0 else {
      if state.journal.needsReload { reload(&state) } else { findSegment(&state) }
      return
    }
    guard let length = try? fileSystem.length(of: state.journal.tail.file),
      length == state.journal.tail.position, state.journal.unread == nil
    else {
      let damages = state.journal.damages
      readOn(&state)
      // A journal that is found damaged now is read again, and repaired, as when the store is opened.
      let isNewlyDamaged = state.isOpened && state.isComplete && state.journal.damages > damages
      if state.journal.needsReload || isNewlyDamaged {
        state.journal.damages = damages
        reload(&state)
      }
      watchOthers(state)
      return
    }
  }

  /// Makes sure that what others have stored in the log is settled also if they are killed.
  private func watchOthers(_ state: borrowing StoreState) {
    guard settlingDelay > 0, state.isOpened, state.index.totals.unsettledEntries > 0 else { return }
    // They go first.
    upkeep.requestSettling(after: 2 * settlingDelay + 1_000_000_000)
  }

  /// Brings the index up to date, unless `settledTail` has shown that it is.
  ///
  /// The descriptor of a mark may have been closed meanwhile, and its number used for another file.
  /// But then the segment is no longer the last one, and the state has another mark.
  @inline(__always)
  func follow(_ state: inout StoreState, after settled: JournalTail.Mark?) {
    if settled == nil || settled != state.journal.tail {
      follow(&state)
    } else {
      followUnsealed(&state)
    }
  }

  /// Looks for the segment that another process may have begun while there was none to read.
  ///
  /// - Complexity: O(segments); only while the journal is empty, or its last segment is damaged.
  private func findSegment(_ state: inout StoreState) {
    do throws(StoreError) {
      if state.journal.segments.isEmpty { return try load(&state) }
      let segment = try journal.open(state.journal.endNumber)
      state.journal.segments.append(SegmentUse(segment: segment))
      readOn(&state)
    } catch {
      refuse(&state, error)
    }
  }

  /// Closes the store for this program if the error means that the store has a newer format now.
  func refuse(_ state: inout StoreState, _ error: StoreError) {
    guard error.code == .newerFormat else { return }
    state.refusal = error
    state.isClosed = true
    upkeep.end()
  }

  /// Reads all new records.
  func readOn(_ state: inout StoreState) {
    // The place of damage that was found once. The bytes may have been cut off and written again
    // while they were read, so damage counts when it is found again.
    var suspected: Int64?
    if let next = state.journal.last?.next { openNext(&state, next) }
    while let use = state.journal.last, !use.isSealed {
      guard let fileLength = try? fileSystem.length(of: use.segment.file.raw) else {
        setUnread(&state, .inputOutput)
        return
      }
      let length = refusedCut(of: use.segment, &state) ?? fileLength
      setReadable(&state)
      if length < use.readBytes {
        // The part that had been read was cut off. This process has its records in the index, but
        // others do not.
        state.journal.setNotWhole()
        state.journal.tornBytes = 0
        return
      }
      if length == use.readBytes {
        state.journal.tornBytes = fileLength - length
        return
      }
      var hasTail = false
      var looksAgain = false
      do throws(SystemError) {
        var reader = SegmentReader(
          use.segment.number, hashSeed: hashSeed, from: use.readBytes)
        let end = min(length, Journal.maximumSegmentBytes)
        try reader.read(use.segment.file, upTo: end, fileSystem) { item in
          if case .tail = item { hasTail = true }
          if case .damage(let range) = item, state.isOpened, suspected != range.lowerBound {
            suspected = range.lowerBound
            looksAgain = true
            return false
          }
          return apply(item, of: use.segment, to: &state)
        }
      } catch {
        setUnread(&state, error)
        return
      }
      if looksAgain { continue }
      if hasTail || state.journal.needsReload { return }
    }
  }

  /// Returns the end of what counts of the last segment, if the system refuses to cut off the rest; `nil` also
  /// once others have cut it off.
  func refusedCut(of segment: Segment, _ state: inout StoreState) -> Int64? {
    guard let cut = state.journal.cutOff, cut.number == segment.number else { return nil }
    guard let status = try? fileSystem.status(of: segment.file.raw), !cut.isPending(status)
    else { return cut.end }
    state.journal.cutOff = nil
    return nil
  }

  /// Applies a part of a segment.
  ///
  /// - Returns: false if the journal continues in another segment.
  func apply(_ item: SegmentReader.Item, of segment: Segment, to state: inout StoreState) -> Bool {
    switch item {
    case .record(let header, let bytes, let place):
      state.journal.setRead(place + Int64(header.length))
      let payload = unsafe header.payload(of: bytes)
      if header.bodyCount > 0 {
        let isEmbedded = unsafe header.type == .put && PutHead.isEmbedded(payload)
        state.journal.addBody(header.bodyCount, isEmbedded: isEmbedded)
      }
      return unsafe apply(&state, header, payload, segment, place)
    case .damage(let range):
      state.journal.setRead(range.upperBound)
      state.journal.noteDamage()
    case .tail(let range):
      state.journal.tornBytes = Int64(range.count)
    }
    return true
  }

  /// Notes that the end of the journal cannot be read now.
  func setUnread(_ state: inout StoreState, _ error: SystemError) {
    // Asked for once only, so that the upkeep does not begin again for ever.
    if state.journal.unread == nil && !state.journal.hasGivenUp { upkeep.request(.reconcile) }
    state.journal.unread = error
  }

  private func setReadable(_ state: inout StoreState) {
    state.journal.hasGivenUp = false
    guard state.journal.unread != nil else { return }
    state.journal.unread = nil
    if state.isComplete { state.confirmed = [] }
  }

  /// Applies one record.
  ///
  /// - Returns: false if the journal continues in another segment.
  private func apply(
    _ state: inout StoreState, _ header: RecordFrame.Header, _ payload: UnsafeRawBufferPointer,
    _ segment: Segment, _ place: Int64
  ) -> Bool {
    // A later segment may begin with any number, because those before it may have been dropped.
    let isKnown = state.journal.sequence != 0 || segment.number == 1
    if isKnown, header.sequence != state.journal.sequence &+ 1 {
      // A gap: records are lost that this process has not read.
      state.journal.noteGap(before: place)
    }
    state.journal.sequence = header.sequence
    switch header.type {
    case .put:
      guard let head = unsafe PutHead(payload), head.length < Self.maximumBodyBytes,
        state.index.totals.logicalBytes < Self.maximumBytes,
        head.agrees(withBodyCount: header.bodyCount)
      else { break }
      state.removals?.put(head)
      state.put(
        head, segment: segment.number, offset: UInt32(truncatingIfNeeded: place),
        recordLength: UInt32(header.length))
    case .remove:
      guard let record = unsafe RemoveRecord(payload: Array(payload)) else { break }
      switch record.reason {
      case .damaged: state.removals?.giveUp(record.keyHash, record.variant)
      case .asked:
        state.removals?.remove(record.keyHash, record.variant)
        state.journal.hasRemoved = state.journal.hasRemoved || !state.isOpened
      default: state.removals?.remove(record.keyHash, record.variant)
      }
      state.remove(record.keyHash, record.variant)
    case .touch:
      for touch in unsafe TouchRecord.touches(payload: Array(payload)) {
        state.lastTick = max(state.lastTick, touch.accessed.nanoseconds)
        guard let slot = state.index.find(touch.keyHash, touch.variant) else { continue }
        state.index.touch(slot, at: touch.accessed.nanoseconds)
      }
    case .settled:
      if let record = unsafe SettledRecord(payload: Array(payload)) { state.settle(record) }
    case .limits:
      guard let record = unsafe LimitsRecord(payload: Array(payload)) else { break }
      state.limits = Limits(record)
      state.limitsSegment = segment.number
    default:
      return unsafe applyStructure(&state, header, payload)
    }
    return true
  }

  /// The bounds of a body and of all together, so that sums cannot overflow. No file is that long, and
  /// no volume that large.
  private static var maximumBodyBytes: UInt64 { 1 << 48 }
  private static var maximumBytes: UInt64 { 1 << 62 }

  private func applyStructure(
    _ state: inout StoreState, _ header: RecordFrame.Header, _ payload: UnsafeRawBufferPointer
  ) -> Bool {
    switch header.type {
    case .clear:
      state.removals?.clear()
      state.journal.hasRemoved = state.journal.hasRemoved || !state.isOpened
      state.clear()
      reopenEntries(&state)
    case .drop:
      guard let number = unsafe DropRecord.through(payload: Array(payload)) else { break }
      state.journal.oldestNeeded = UInt32(clamping: number &+ 1)
      state.journal.release(through: UInt32(clamping: number))
    case .seal:
      guard let next = unsafe SealRecord.next(payload: Array(payload)) else { break }
      let number = UInt32(clamping: next)
      state.journal.segments[state.journal.segments.count - 1]?.next = number
      openNext(&state, number)
      return false
    default:
      // Types of newer versions are skipped.
      break
    }
    return true
  }

  /// Opens the present `entries` directory. If that fails, `confirmEntries` does it later.
  func reopenEntries(_ state: inout StoreState) {
    guard
      let directory = try? fileSystem.open(Layout.entries, in: place.root, [.read, .directory])
    else { return }
    state.entries = EntriesDirectory(
      generation: state.entries.generation + 1, directory: directory)
  }

  /// Continues with the next segment. If the system cannot open it now, `readOn` does it later.
  private func openNext(_ state: inout StoreState, _ number: UInt32) {
    do throws(StoreError) {
      let segment = try journal.open(number)
      if number == state.journal.endNumber {
        state.journal.segments.append(SegmentUse(segment: segment))
        return
      }
    } catch {
      refuse(&state, error)
      if state.refusal != nil { return }
      let cause = SystemError(error.errno)
      if cause.isForNow { return setUnread(&state, cause) }
    }
    state.journal.needsReload = true
  }
}
