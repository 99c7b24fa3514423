internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// A segment that has another name, as `cp -al` gives it one, is also somebody else's: nothing is written
// to it any more, not even a seal, and a new one is begun. Who follows the journal learns of that by the
// file `lock`, which is another one from then on (`JournalLock`).
extension Catalog {
  /// Begins a new segment after one that is left as it is. The caller holds the journal's lock.
  func leave(_ linked: Segment) throws(StoreError) -> Segment {
    try system("\(path)/lock") { () throws(SystemError) in
      try place.lock.replace(with: place.lock.mark ?? [], in: place.root, clock)
    }
    let segment = try makeSegment(linked.number + 1)
    journal.rollsNext.store(false, ordering: .relaxed)
    state.withLock { state in
      guard state.journal.current === linked else { return }
      state.journal.goOn(with: segment)
      state.journal.lockNumber = place.lock.number
    }
    return segment
  }

  /// Goes on to a segment that another process has begun after one that it has left without a seal.
  ///
  /// - Parameter number: that of the file `lock`. Where it has not changed, nobody has done that.
  func followUnsealed(_ state: inout StoreState, _ number: UInt64) {
    guard state.journal.lockNumber != number else { return }
    var isLast = false
    while !isLast, let use = state.journal.segments.last ?? nil, !use.isSealed {
      // One without records was left by a process that was killed when it had just made it.
      if let next = try? journal.open(use.segment.number + 1), journal.hasRecords(next) {
        state.journal.goOn(with: next)
        readOn(&state)
      } else {
        isLast = true
      }
    }
    state.journal.lockNumber = number
  }

  /// As `followUnsealed`, for a reader, who holds no lock; looks now and then only.
  func followUnsealed(_ state: inout StoreState) {
    state.journal.quietLooks &+= 1
    guard state.journal.quietLooks & 63 == 0,
      let number = try? fileSystem.status(at: Layout.lock, in: place.root.raw).fileNumber,
      number != state.journal.lockNumber
    else { return }
    let (segments, before) = (state.journal.segments.count, state.journal.lockNumber)
    followUnsealed(&state, number)
    // The segment may be just about to be made.
    if state.journal.segments.count == segments { state.journal.lockNumber = before }
  }
}
