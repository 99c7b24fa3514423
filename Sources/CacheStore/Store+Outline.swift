public import CacheFormat
internal import CacheSystem
internal import Synchronization

// Outlines, with which a caller finds out whether its copy of a stored response is still current.
extension Store {
  /// Returns the variants and body lengths of the stored responses of a key, in no particular
  /// order. They come from the index alone. The key itself is not compared, so a look-up may still
  /// be a miss.
  ///
  /// - Complexity: O(number of variants), at most 64. One ioctl(2).
  public func outline(of key: ByteString) -> [VariantOutline] {
    let hash = catalog.hash(key)
    try? recovery.askTree(hash)
    return reader.withCurrentState { state in
      state.isClosed ? [] : state.index.variants(of: hash).map { VariantOutline(state.index[$0]) }
    }
  }

  /// Returns whether the stored responses of a key are still exactly those of an outline, so that a
  /// copy that was read before can be used. Counts as an access of each of them.
  ///
  /// Like every look-up, this includes the changes of other processes. Returns false also if an
  /// outline is not lasting.
  ///
  /// - Complexity: O(number of variants). One ioctl(2).
  public func revisit(_ key: ByteString, _ outline: [VariantOutline]) -> Bool {
    let hash = catalog.hash(key)
    let settled = reader.settledTail()
    let (isCurrent, isFirstTouch) = reader.state.withLock { state -> (Bool, Bool) in
      reader.follow(&state, after: settled)
      let slots = state.index.variants(of: hash)
      guard !state.isClosed, state.isComplete, !slots.isEmpty, slots.count == outline.count,
        zip(slots, outline).allSatisfy({ slot, known in
          let slot = state.index[slot]
          return known.isLasting && VariantOutline(slot) == known && !state.isDoubtful(slot)
        })
      else { return (false, false) }
      let now = clock.roughly()
      var isFirstTouch = false
      for slot in slots where state.touch(slot, now: now) { isFirstTouch = true }
      return (true, isFirstTouch)
    }
    if isFirstTouch { accessTimes.announceTouches() }
    if isCurrent {
      counters.hit(.memory)
      events.send(.hit(.memory), key: key)
    }
    return isCurrent
  }
}
