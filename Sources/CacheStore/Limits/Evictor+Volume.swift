internal import CacheSystem
internal import Synchronization

/// The free space on the volume. It is queried again after some bytes were written.
struct VolumeRoom {
  var available: UInt64 = 0
  /// The bytes written since the last query; the maximum if a new query is due.
  var written: UInt64 = .max

  /// The bytes that may be written before the next query.
  static let recheckBytes: UInt64 = 16 << 20
}

extension Evictor {
  /// Evicts entries until the volume has the free bytes that the limits demand.
  func keepFree(
    _ free: UInt64, adding entry: NewEntry, _ hash: KeyHash, olderThan bound: Int64?
  ) throws(StoreError) {
    let bytes = entry.length
    var hasDropped = false
    while true {
      let available = freeBytes(adding: bytes)
      if available >= free { return }
      if !hasDropped {
        hasDropped = true
        if dropDeadRecords(of: free - available) { continue }
      }
      volume.withLock { $0.written = .max - bytes - bytes }
      // Nothing is evicted for a body that cannot be stored anyway.
      guard !isTooLong(bytes, leaving: free),
        try evictOne(
          .freeSpace, olderThan: bound, forSpare: entry.isSpare,
          planned: { self.totals($0, adding: entry, EntrySize(), hash).0 }) != nil
      else {
        let error = full(.freeSpace, bound)
        if bound == nil, error.code == .leastRecent, !isTooLong(bytes, leaving: free) {
          throw error
        }
        throw StoreError(
          .noSpace, path: path,
          cause: "\(available) bytes are free on the volume, the limits leave \(free) bytes free",
          remedy: "free space on the disk, or lower that limit")
      }
    }
  }

  /// Returns the bytes that will be free on the volume after so many more were written.
  private func freeBytes(adding bytes: UInt64) -> UInt64 {
    volume.withLock { room in
      if room.written > VolumeRoom.recheckBytes,
        let status = try? catalog.fileSystem.volume(of: catalog.place.root.raw)
      {
        room = VolumeRoom(available: status.availableBytes, written: 0)
      }
      let (sum, isTooLarge) = room.written.addingReportingOverflow(bytes)
      room.written = isTooLarge ? .max : sum
      return room.available - min(room.available, room.written)
    }
  }

  /// Writes the journal anew if that frees more than so many bytes, before an entry is evicted for
  /// them.
  ///
  /// - Returns: whether the journal was written anew.
  private func dropDeadRecords(of bytes: UInt64) -> Bool {
    let spare = catalog.state.withLock { $0.journal.spareBytes }
    guard spare > Int64(clamping: max(bytes, 64 << 10)),
      (try? recovery.purge()) != nil
    else { return false }
    volume.withLock { $0.written = .max }
    return true
  }

  /// Returns the bytes that are free on the volume, and about how many more the store could free: those
  /// of dead records, and of the entries that may be evicted. `nil` if the volume cannot be queried.
  private func space(evicting: Bool) -> (free: UInt64, removable: UInt64)? {
    guard let volume = try? catalog.fileSystem.volume(of: catalog.place.root.raw) else {
      return nil
    }
    let removable = catalog.state.withLock { state -> UInt64 in
      let dead = UInt64(clamping: state.journal.spareBytes)
      if !evicting { return dead }
      let totals = state.index.totals
      let all = totals.bodyBytes + totals.overheadBytes
      return dead + all - min(all, totals.pinnedBytes)
    }
    return (volume.availableBytes, removable)
  }

  /// Returns whether the volume has no room for a body and the free bytes that the limits demand, even
  /// without all entries; false if it has not even room for the free bytes alone.
  private func isTooLong(_ bytes: UInt64, leaving free: UInt64) -> Bool {
    guard let space = space(evicting: true) else { return false }
    let (most, isLarge) = space.free.addingReportingOverflow(space.removable)
    return !isLarge && most >= free && most - free < bytes
  }

  /// Throws `noSpace` if the volume has no room for a body, even without all entries that may be
  /// evicted for it. So nothing is evicted for a body that cannot be stored anyway.
  func checkSpace(for length: UInt64) throws(StoreError) {
    guard let (free, removable) = space(evicting: evictsOnFullDisk) else { return }
    if length > free, length - free > removable {
      throw StoreError(
        .noSpace, path: path,
        cause: "the body has \(length) bytes, \(free) are free on the volume, and the store could "
          + "free \(removable)",
        remedy: "free space on the disk")
    }
  }

  /// Makes room on a full disk.
  ///
  /// - Parameter bytes: the bytes that are to be written.
  /// - Returns: whether something was removed.
  func makeSpace(_ bytes: UInt64) -> Bool {
    if dropDeadRecords(of: bytes) { return true }
    if (try? checkSpace(for: bytes)) == nil { return false }
    if !evictsOnFullDisk { return false }
    var freed: UInt64 = 0
    var count = 0
    // The records of the evictions need room, too, so at least eight entries are evicted.
    while freed < bytes + 64 << 10 || count < 8 {
      guard let evicted = try? evictOne(.freeSpace) else { break }
      // The bytes of an entry in the log are freed with their segment.
      if !evicted.isUnsettled { freed += evicted.length + evicted.overhead }
      count += 1
    }
    return count > 0
  }
}
