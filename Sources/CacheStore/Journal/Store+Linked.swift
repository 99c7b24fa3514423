internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// A segment that has another name, as `cp -al` gives it one, is also somebody else's: nothing is written
// to it any more, not even a seal, and a new one is begun. Who follows the journal learns of that by the
// file `lock`, which is another one from then on (`JournalLock`).
extension Store {
  func segmentPath(_ number: UInt32) -> String { "\(path)/journal/\(Layout.segment(number).text)" }

  /// Begins a new segment after one that is left as it is. The caller holds the journal's lock.
  func leave(_ linked: Segment) throws(StoreError) -> Segment {
    try system("\(path)/lock") { () throws(SystemError) in
      try place.lock.replace(with: place.lock.mark ?? [], in: place.root, clock)
    }
    let segment = try openSegment(try makeSegment(linked.number + 1))
    rollsNext.store(false, ordering: .relaxed)
    state.withLock { state in
      guard state.current === linked else { return }
      goOn(&state, with: segment)
      state.lockNumber = place.lock.number
    }
    return segment
  }

  private func goOn(_ state: inout StoreState, with segment: Segment) {
    countTail(&state)
    state.add(segment)
  }

  /// Goes on to a segment that another process has begun after one that it has left without a seal.
  ///
  /// - Parameter number: that of the file `lock`. Where it has not changed, nobody has done that.
  func followUnsealed(_ state: inout StoreState, _ number: UInt64) {
    guard state.lockNumber != number else { return }
    var isLast = false
    while !isLast, let use = state.segments.last ?? nil, !use.isSealed {
      // One without records was left by a process that was killed when it had just made it.
      if let next = try? openSegment(use.segment.number + 1),
        let length = try? fileSystem.length(of: next.file.raw), length > SegmentHeader.count
      {
        goOn(&state, with: next)
        readOn(&state)
      } else {
        isLast = true
      }
    }
    state.lockNumber = number
  }

  /// As `followUnsealed`, for a reader, who holds no lock; looks now and then only.
  func followUnsealed(_ state: inout StoreState) {
    state.quietLooks &+= 1
    guard state.quietLooks & 63 == 0,
      let number = try? fileSystem.status(at: Layout.lock, in: place.root.raw).fileNumber,
      number != state.lockNumber
    else { return }
    let (segments, before) = (state.segments.count, state.lockNumber)
    followUnsealed(&state, number)
    // The segment may be just about to be made.
    if state.segments.count == segments { state.lockNumber = before }
  }
}
