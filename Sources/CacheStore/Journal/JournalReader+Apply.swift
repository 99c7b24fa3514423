internal import CacheFormat
internal import CacheSystem

// The effects of the records on the state.
extension JournalReader {
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
      state.journal.remainder = .read(torn: Int64(range.count))
    }
    return true
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
      if state.removals != nil {
        let old = state.index.find(head.keyHash, head.variant).map { state.index[$0].digest }
        state.removals?.put(head, replacing: old)
      }
      state.put(
        head, segment: segment.number, offset: UInt32(truncatingIfNeeded: place),
        recordLength: UInt32(header.length))
    case .remove:
      guard let record = unsafe RemoveRecord(payload: Array(payload)) else { break }
      let digest = state.remove(record.keyHash, record.variant)?.digest
      switch record.reason {
      case .damaged:
        state.removals?.giveUp(record.keyHash, record.variant, digest, at: header.sequence)
      case .asked:
        state.removals?.remove(record.keyHash, record.variant, digest, at: header.sequence)
        state.journal.hasRemoved = state.journal.hasRemoved || !state.isOpened
      default: state.removals?.remove(record.keyHash, record.variant, digest, at: header.sequence)
      }
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
      state.removals?.clear(at: header.sequence)
      state.journal.hasRemoved = state.journal.hasRemoved || !state.isOpened
      state.clear()
      _ = reopenMovedEntries(&state)
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

  /// Opens the `entries` directory in the store if it is not the open one. If that fails,
  /// `confirmEntries` does it later.
  ///
  /// - Returns: whether it was another one.
  func reopenMovedEntries(_ state: inout StoreState) -> Bool {
    guard hasMovedEntries(state) else { return false }
    if let directory = try? fileSystem.open(Layout.entries, in: place.root, [.read, .directory]) {
      state.entries = EntriesDirectory(directory)
    }
    return true
  }

  /// Returns whether the open `entries` directory is not the one in the store.
  func hasMovedEntries(_ state: borrowing StoreState) -> Bool {
    guard let present = try? fileSystem.status(at: Layout.entries, in: place.root.raw),
      let open = try? fileSystem.status(of: state.entries.directory.raw)
    else { return false }
    return present.identity != open.identity
  }
}
