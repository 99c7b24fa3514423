internal import CacheFormat
internal import CacheSystem

// Segments with a second name (a hard link, as `cp -al` makes it). The other name may be somebody
// else's, so such a segment is not written to any more, not even to seal it, and a new one is
// begun. Other processes notice this because the file `lock` is replaced at the same time
// (`JournalLock`).
extension JournalReader {
  /// Continues in a segment that another process has begun after a linked one, which has no seal. If
  /// that segment was dropped, too, the journal is read again.
  ///
  /// - Parameter number: the inode of the file `lock`. If it has not changed, there is no such
  ///   segment.
  func followUnsealed(_ state: inout StoreState, _ number: UInt64) {
    // What cannot be read now is not left out.
    guard state.journal.lockNumber != number, state.journal.unread == nil else { return }
    if let last = state.journal.current, refusedCut(of: last, &state) != nil { return }
    readNew(&state) { state in
      while let use = state.journal.last, !use.isSealed {
        do throws(StoreError) {
          let next = try journal.open(use.segment.number + 1)
          // One without records was left by a process that was killed just after it had made it.
          if journal.hasRecords(next) {
            state.journal.goOn(with: next)
            readOn(&state)
            continue
          }
        } catch {
          let cause = SystemError(error.errno)
          if cause.isForNow { return setUnread(&state, cause) }
        }
        if !journal.isThere(use.segment) { state.journal.remainder = .outdated() }
        break
      }
      state.journal.lockNumber = number
    }
  }

  /// Does the same for a reader, which holds no lock, at every 64th call.
  func followUnsealed(_ state: inout StoreState) {
    state.journal.quietLooks &+= 1
    guard state.journal.quietLooks & 63 == 0,
      let number = try? fileSystem.status(at: Layout.lock, in: place.root.raw).fileNumber,
      number != state.journal.lockNumber
    else { return }
    let (last, before) = (state.journal.nextNumber, state.journal.lockNumber)
    followUnsealed(&state, number)
    // The other process may not have made the segment yet.
    if state.journal.nextNumber == last { state.journal.lockNumber = before }
  }
}
