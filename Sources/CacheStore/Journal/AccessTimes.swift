internal import CacheFormat
internal import CacheSystem

/// Access times: noted in memory, and appended to the journal within a second, many in one record.
final class AccessTimes: CatalogUser {
  let catalog: Catalog
  private let compactor: Compactor
  private let pendingTouches = PendingTouches()

  init(_ compactor: Compactor) {
    self.compactor = compactor
    catalog = compactor.catalog
  }

  /// Notes an access of an entry.
  func touch(_ located: Located) {
    let now = catalog.clock.now()
    let isFirst = reader.state.withLock { state -> Bool in
      guard !state.isClosed,
        let slot = state.index.find(located.slot.keyHash, located.slot.variant)
      else { return false }
      return state.touch(slot, now: now)
    }
    if isFirst { announceTouches() }
  }

  /// Appends to the journal the access times that are only in memory.
  func flush() throws(StoreError) {
    if place.isReadOnly { return }
    defer { compactor.tendJournal() }
    while try !flushSome() {}
    // Accesses since then are announced again.
    withdraw()
    if reader.state.withLock({ !$0.touched.isEmpty }) { announceTouches() }
  }

  /// Lets others evict without waiting for this process.
  func withdraw() { pendingTouches.withdraw(place.staging.raw, fileSystem) }

  private func flushSome() throws(StoreError) -> Bool {
    var isLast = true
    var taken: [UInt32] = []
    do throws(StoreError) {
      _ = try writer.append { state throws(StoreError) -> [[UInt8]] in
        taken = Array(state.touched.prefix(TouchRecord.maximumCount))
        isLast = taken.count == state.touched.count
        let touches = taken.compactMap { number -> Touch? in
          let slot = state.index[number]
          state.index.setTouched(number, false)
          guard slot.isLive else { return nil }
          return Touch(
            keyHash: slot.keyHash, variant: slot.variant,
            accessed: Timestamp(nanoseconds: slot.accessed))
        }
        state.touched.removeFirst(taken.count)
        return touches.isEmpty ? [] : [TouchRecord.bytes(touches)]
      }
    } catch {
      reader.state.withLock { state in
        for slot in taken where slot < state.index.slotCount { state.setTouched(slot) }
      }
      throw error
    }
    return isLast
  }

  /// Announces to other processes that this process has new access times, and requests that they
  /// are written to the journal. Called after the first access that is not in the journal.
  func announceTouches() {
    if place.isReadOnly { return }
    pendingTouches.announce(place.staging.raw, fileSystem)
    // The store may have been closed since the access.
    if reader.state.withLock({ $0.isClosing || $0.isClosed }) { return withdraw() }
    upkeep.requestTouches()
  }

  /// Waits until the journal has the access times of other processes, which write them within a
  /// second. At most 1.3 seconds, so that a process that is stopped, or reads all the time, does
  /// not block this one.
  ///
  /// - Parameter interval: the nanoseconds after a wait in which there is no other wait.
  func waitForTouches(unlessWithin interval: Int64 = 0) {
    pendingTouches.waitForOthers(
      place.staging.raw, fileSystem, unlessWithin: interval,
      while: { !upkeep.isStopping })
    reader.follow()
  }
}
