internal import CacheFormat
internal import CacheSystem

// The end of the journal, if it is torn, lost, or cannot be read.
extension JournalWriter {
  /// Cuts off the bytes after the last record, if there are any.
  package func cutTornTail() throws(StoreError) {
    try journal.withLock { () throws(StoreError) in try cutTornTailLocked() }
  }

  /// Does the same, for a caller that holds the journal's lock.
  func cutTornTailLocked() throws(StoreError) {
    let (current, position, torn) = try reader.withCurrentState { state throws(StoreError) in
      try reader.check(state)
      return (state.journal.current, state.journal.position, state.journal.tornBytes)
    }
    if let current, torn > 0 { _ = try withoutTail(current, torn, at: position) }
  }

  /// Returns the segment to go on in: the current one without the bytes after the last record, or the
  /// next one if the current one has a second link; `nil` if the current one has no name any more.
  func withoutTail(
    _ current: Segment, _ torn: Int64, at position: Int64
  ) throws(StoreError) -> Segment? {
    let status = try system(journal.path(of: current.number)) { () throws(SystemError) in
      try fileSystem.status(of: current.file.raw)
    }
    if status.linkCount == 0 { return nil }
    let isRefused = reader.state.withLock { reader.refusedCut(of: current, &$0) != nil }
    if isRefused { try prepareCut(after: current.number) }
    // Nobody else is writing, so a killed process left the bytes after the last record. What a loss of power
    // has left is cut off also in a file with a second name, as when the store is opened.
    if torn > 0, isRefused || !status.isLinked { try cutTail(of: current, at: position) }
    return status.isLinked ? try leave(current) : current
  }

  /// Cuts off the bytes after the last record. The caller holds the journal's lock, and has read up
  /// to `position`.
  private func cutTail(of segment: Segment, at position: Int64) throws(StoreError) {
    try journal.cut(segment, at: position)
    reader.state.withLock { state in
      if state.journal.unread == nil { state.journal.remainder = .read() }
      state.journal.refusedCut = nil
      // In a journal that is not whole, perhaps because of this tail, a number is left out. So
      // processes that open the store before it is written anew notice the damage.
      if !state.journal.isWhole { state.journal.sequence &+= 1 }
    }
  }

  /// Leaves the sign of a restart, if there is none, and removes the segments after one that is to be cut
  /// off. The caller holds the journal's lock.
  func prepareCut(after number: UInt32) throws(StoreError) {
    if try !tree.staging.deadSessions().contains(where: tree.staging.isOfEarlierBoot) {
      try tree.staging.leaveSignOfRestart()
    }
    // The newest first, so that none is missing if this is interrupted. There may be one that was only
    // begun.
    for later in try journal.numbers().reversed() where later > number {
      let name = Layout.segment(later)
      try system(journal.path(of: later)) { () throws(SystemError) in
        try fileSystem.removeFile(name, in: place.journal.raw)
        try fileSystem.synchronize(place.journal, names: true)
      }
    }
  }

  /// Reads the end of the journal that could not be read before. If that is still not possible after
  /// some tries, the end is given up: the journal counts as damaged, and goes on in a new segment.
  package func readUnread() throws(StoreError) {
    let isRead = try upkeep.awaitMoment {
      reader.withCurrentState { $0.journal.unread == nil }
    }
    if isRead || upkeep.isStopping { return }
    try reader.state.withLock { state throws(StoreError) in
      // The journal is there, and other processes go on with it.
      if state.journal.unread?.mayPass == true { try reader.check(state) }
    }
    try journal.withLock { () throws(StoreError) in
      let unread = reader.withCurrentState { $0.journal.unread == nil ? nil : $0.journal.current }
      guard let unread else { return }
      _ = try leave(unread)
    }
  }

  /// Makes the journal count as damaged, because records are lost.
  func noteLostRecords(through sequence: UInt64) throws(StoreError) {
    try reader.withCurrentState { state throws(StoreError) in
      if !state.journal.isWhole {
        state.journal.sequence = max(state.journal.sequence, sequence)
        return
      }
      try reader.noteLostRecords(&state, through: sequence)
    }
  }
}
