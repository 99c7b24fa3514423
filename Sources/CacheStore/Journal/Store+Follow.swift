internal import CacheFormat
internal import CacheSystem

// Reading the journal on from where it was left: at opening all of it, later what other processes
// (or threads of this one) have appended. No lock is held, so the last record may be half written.
extension Store {
  /// Brings the index up to date with the journal.
  ///
  /// - Complexity: one lseek(2) where nothing is new.
  @inline(__always)
  func follow(_ state: inout StoreState) {
    guard state.journal.tail.file >= 0 else {
      findSegment(&state)
      return
    }
    guard let length = try? fileSystem.length(of: state.journal.tail.file),
      length == state.journal.tail.position
    else {
      readOn(&state)
      if state.journal.needsReload { reload(&state) }
      return
    }
  }

  /// Asks, without the state, whether the journal has grown.
  ///
  /// - Returns: how far it had been read, if that was all of it; nil: it has to be followed.
  @inline(__always)
  func settledTail() -> JournalTail.Mark? {
    let mark = sharedTail.mark
    guard mark.file >= 0, let length = try? fileSystem.length(of: mark.file),
      length == mark.position
    else { return nil }
    return mark
  }

  /// Brings the index up to date, unless it was so when `settledTail` was asked.
  ///
  /// The descriptor of a mark may have been closed and its number used again meanwhile. But then the
  /// segment is not the last one any more, and the state has another mark.
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
      let segment = try journal.open(
        state.journal.firstNumber + UInt32(state.journal.segments.count))
      state.journal.segments.append(SegmentUse(segment: segment))
      readOn(&state)
    } catch {
      refuse(&state, error)
    }
  }

  /// Closes the store for this program if an error says that the store has a newer format now.
  func refuse(_ state: inout StoreState, _ error: StoreError) {
    guard error.code == .newerFormat else { return }
    state.refusal = error
    state.isClosed = true
    upkeep.end()
  }

  /// Reads all that is new.
  func readOn(_ state: inout StoreState) {
    while let use = state.journal.segments.last ?? nil, !use.isSealed {
      guard let length = try? fileSystem.length(of: use.segment.file.raw) else {
        setUnreadable(&state)
        return
      }
      if length < use.readBytes {
        // Somebody cut off what had been read: what it said is known here, but not to others.
        state.journal.isWhole = false
        state.journal.tornBytes = 0
        return
      }
      if length == use.readBytes {
        state.journal.tornBytes = 0
        return
      }
      let progressed = readChunk(
        &state, use.segment, from: use.readBytes, length: min(length, Journal.maximumSegmentBytes))
      if !progressed || state.journal.needsReload { return }
    }
  }

  /// Reads records of the current segment, up to some megabytes.
  ///
  /// - Returns: whether anything was read.
  private func readChunk(
    _ state: inout StoreState, _ segment: Segment, from start: Int64, length: Int64
  ) -> Bool {
    // A megabyte at a time; more only where a record, or damage, is larger.
    readChunk(&state, segment, from: start, length: length, limit: 1 << 20)
      || length - start > 1 << 20
        && readChunk(
          &state, segment, from: start, length: length,
          limit: RecordFrame.maximumLength + (1 << 20))
  }

  private func readChunk(
    _ state: inout StoreState, _ segment: Segment, from start: Int64, length: Int64, limit: Int
  ) -> Bool {
    let count = Int(min(length - start, Int64(limit)))
    // Safety: the buffer is as long as its count says; only what was read is looked at.
    return unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
      guard let got = unsafe try? fileSystem.read(segment.file, into: buffer, at: start)
      else {
        setUnreadable(&state)
        return false
      }
      let bytes = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<got])
      return unsafe applyRecords(
        &state, segment, bytes, at: start, isEnd: start + Int64(got) >= length)
    }
  }

  /// Applies the records in `bytes`, which begin at `start` of the segment.
  func applyRecords(
    _ state: inout StoreState, _ segment: Segment, _ bytes: UnsafeRawBufferPointer,
    at start: Int64, isEnd: Bool
  ) -> Bool {
    var done = 0
    while done < bytes.count {
      let place = start + Int64(done)
      switch unsafe RecordFrame.read(bytes, at: done, seed: segment.seed(hashSeed, place)) {
      case .record(let header):
        let begin = done + RecordFrame.headerCount
        // Safety: the frame says that the payload lies within the bytes.
        let payload = unsafe UnsafeRawBufferPointer(
          rebasing: bytes[begin..<(begin + header.payloadCount)])
        done += header.length
        setRead(&state, place + Int64(header.length))
        if unsafe !apply(&state, header, payload, segment, place) { return true }
      case .incomplete where !isEnd && done > 0:
        return true
      case .incomplete where !isEnd && bytes.count < RecordFrame.maximumLength:
        return false
      case .incomplete, .damaged:
        guard let next = unsafe resynchronize(bytes, after: done, start, segment) else {
          if !isEnd && done == 0 {
            if bytes.count < RecordFrame.maximumLength { return false }
            return skip(&state, start + Int64(bytes.count))
          }
          if isEnd { state.journal.tornBytes = Int64(bytes.count - done) }
          return !isEnd
        }
        state.journal.noteDamage()
        done = next
        setRead(&state, start + Int64(next))
      }
    }
    state.journal.tornBytes = 0
    return true
  }

  /// Notes that a part of the journal cannot be read. What it says is not known then, so nothing in
  /// the tree may count as unknown to it.
  private func setUnreadable(_ state: inout StoreState) {
    state.journal.isWhole = false
    state.isComplete = false
    state.journal.damages += 1
  }

  /// Passes over a stretch in which there is no record at all.
  private func skip(_ state: inout StoreState, _ end: Int64) -> Bool {
    state.journal.noteDamage()
    // A record may begin here that ends beyond what was read.
    let overlap = Int64(RecordFrame.maximumLength)
    setRead(&state, (end - overlap) / Int64(RecordFrame.alignment) * Int64(RecordFrame.alignment))
    return true
  }

  /// Finds the next record after damage.
  private func resynchronize(
    _ bytes: UnsafeRawBufferPointer, after damaged: Int, _ start: Int64, _ segment: Segment
  ) -> Int? {
    var place = damaged + RecordFrame.alignment
    while place + RecordFrame.headerCount <= bytes.count {
      // Safety: the header is within the bytes.
      let mark = unsafe UInt32(
        littleEndian: bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt32.self))
      if mark == RecordFrame.magic,
        case .record = unsafe RecordFrame.read(
          bytes, at: place, seed: segment.seed(hashSeed, start + Int64(place)))
      {
        return place
      }
      place += RecordFrame.alignment
    }
    return nil
  }

  private func setRead(_ state: inout StoreState, _ position: Int64) {
    state.journal.segments[state.journal.segments.count - 1]?.readBytes = position
  }

  /// Applies one record.
  ///
  /// - Returns: false when the journal goes on in another segment.
  private func apply(
    _ state: inout StoreState, _ header: RecordFrame.Header, _ payload: UnsafeRawBufferPointer,
    _ segment: Segment, _ place: Int64
  ) -> Bool {
    if header.sequence != state.journal.sequence &+ 1 && state.journal.sequence != 0 {
      // A gap: records that this process has not seen are gone.
      state.journal.noteDamage()
    }
    state.journal.sequence = header.sequence
    switch header.type {
    case .put:
      guard let head = unsafe PutHead(payload), head.length < Self.maximumBodyBytes else { break }
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
    case .limits:
      guard let record = unsafe LimitsRecord(payload: Array(payload)) else { break }
      state.limits = Limits(record)
      state.limitsSegment = segment.number
    default:
      return unsafe applyStructure(&state, header, payload)
    }
    return true
  }

  /// Limits what a record says of a body, far above what a file can hold: sums cannot overflow.
  private static var maximumBodyBytes: UInt64 { 1 << 48 }

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
      state.journal.segments[state.journal.segments.count - 1]?.isSealed = true
      openNext(&state, UInt32(clamping: next))
      return false
    default:
      // A type of a newer version: skipped.
      break
    }
    return true
  }

  /// Opens the present `entries` directory. Where that fails, `confirmEntries` does it later.
  func reopenEntries(_ state: inout StoreState) {
    guard
      let directory = try? fileSystem.open(Layout.entries, in: place.root, [.read, .directory])
    else { return }
    state.entries = EntriesDirectory(
      generation: state.entries.generation + 1, directory: directory)
  }

  /// Goes on with the next segment.
  private func openNext(_ state: inout StoreState, _ number: UInt32) {
    do throws(StoreError) {
      let segment = try journal.open(number)
      if number == state.journal.firstNumber + UInt32(state.journal.segments.count) {
        state.journal.segments.append(SegmentUse(segment: segment))
        return
      }
    } catch {
      refuse(&state, error)
      if state.refusal != nil { return }
    }
    state.journal.needsReload = true
  }
}
