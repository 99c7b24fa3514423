public import CacheFormat
internal import CacheSystem
internal import Synchronization

// Asking whether what a caller keeps of an entry is still what is stored.
extension Store {
  /// Gives variant and length of the stored responses of a key, in no particular order, from the
  /// index alone: the key itself is not compared, so what is asked for next may still be a miss.
  ///
  /// - Complexity: O(number of variants), at most 64. One lseek(2).
  public func outline(of key: ByteString) -> [VariantOutline] {
    let hash = hash(key)
    try? askTree(hash)
    return state.withLock { state in
      follow(&state)
      return state.index.variants(of: hash).map { VariantOutline(state.index[$0]) }
    }
  }

  /// Tells whether the stored responses of a key are still just those of an outline, so that what
  /// was read of them before can be used without reading it again; counts as an access of each.
  ///
  /// Sees what other processes have changed, like every look-up. False, too, where an outline is not
  /// lasting.
  ///
  /// - Complexity: O(number of variants). One lseek(2).
  public func revisit(_ key: ByteString, _ outline: [VariantOutline]) -> Bool {
    let hash = hash(key)
    let settled = settledTail()
    let (isCurrent, isFirstTouch) = state.withLock { state -> (Bool, Bool) in
      follow(&state, after: settled)
      let slots = state.index.variants(of: hash)
      guard !state.isClosed, !slots.isEmpty, slots.count == outline.count,
        zip(slots, outline).allSatisfy({ slot, known in
          known.isLasting && VariantOutline(state.index[slot]) == known
        })
      else { return (false, false) }
      let touches = state.touched.count
      let now = clock.roughly()
      for slot in slots { state.touch(slot, now: now) }
      state.counters.hits += 1
      state.counters.memoryHits += 1
      return (true, touches == 0 && state.touched.count > 0)
    }
    if isFirstTouch { announceTouches() }
    if isCurrent { eventHub.send(.hit(.memory), key: key) }
    return isCurrent
  }
}
