internal import Synchronization

// How much room entries take under the limit on bytes, counted by lengths alone: what is true of a body
// before it is stored is true of it then, whatever else the journal holds and whatever bodies are shared.
extension Store {
  /// The bytes that may be filled; nil without a limit.
  ///
  /// Where the journal counts, an eighth is left for records in it that are dead: then nothing has to be
  /// evicted for what was planned.
  package var plannedBytes: UInt64? {
    let limits = limits
    return limits.bytes.map { limits.accounting == .logical ? $0 : $0 - $0 / 8 }
  }

  /// The bytes that an entry with a body of a length takes, at most.
  package func planned(_ length: UInt64) -> UInt64 {
    state.withLock { planned(length, $0) }
  }

  /// The bytes that all entries take, at most.
  ///
  /// - Complexity: O(entries).
  package func plannedForAll() -> UInt64 {
    state.withLock { state in
      follow(&state)
      var sum: UInt64 = 0
      for number in 0..<UInt32(state.index.slotCount) where state.index[number].isLive {
        sum += planned(state.index[number].length, state)
      }
      return sum
    }
  }

  func planned(_ length: UInt64, _ state: borrowing StoreState) -> UInt64 {
    switch state.limits.accounting {
    case .logical: length
    case .allocated:
      state.index.allocated(length) + 2 * place.blockBytes + Self.plannedRecordBytes
    }
  }

  /// What the record of an entry is taken to have.
  private static var plannedRecordBytes: UInt64 { 1_056 }
}
