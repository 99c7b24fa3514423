internal import CacheSystem
internal import Synchronization

/// Tells other processes that this one has accesses in memory that the journal does not know yet: a
/// shared lock (flock) on the directory `staging`, as long as there are any.
///
/// Who wants to evict what was accessed least recently waits until nobody holds it.
final class PendingTouches: Sendable {
  private let isAnnounced = Mutex(false)

  /// Takes the lock. If another process asks for it at this moment, tries again a few times, and never
  /// waits.
  func announce(_ staging: Int32, _ fileSystem: any FileSystem) {
    isAnnounced.withLock { isAnnounced in
      if !isAnnounced { isAnnounced = Self.share(staging, fileSystem) }
    }
  }

  /// Releases the lock: the journal knows all accesses.
  func withdraw(_ staging: Int32, _ fileSystem: any FileSystem) {
    isAnnounced.withLock { isAnnounced in
      if isAnnounced { fileSystem.unlock(staging) }
      isAnnounced = false
    }
  }

  /// Returns whether another process has announced accesses.
  func areElsewhere(_ staging: Int32, _ fileSystem: any FileSystem) -> Bool {
    isAnnounced.withLock { isAnnounced in
      var isElsewhere = false
      do throws(SystemError) {
        try fileSystem.lockOnce(staging, exclusive: true, wait: false)
      } catch { isElsewhere = error == .wouldBlock }
      if isAnnounced {
        isAnnounced = Self.share(staging, fileSystem)
      } else {
        fileSystem.unlock(staging)
      }
      return isElsewhere
    }
  }

  private static func share(_ staging: Int32, _ fileSystem: any FileSystem) -> Bool {
    for _ in 0..<8
    where (try? fileSystem.lockOnce(staging, exclusive: false, wait: false)) != nil { return true }
    return false
  }
}

extension Store {
  /// Writes the accesses since now to the journal soon, and tells other processes that there are some.
  /// Called after the first access that the journal does not know.
  func announceTouches() {
    if isReadOnly { return }
    pendingTouches.announce(place.staging.raw, fileSystem)
    upkeep.request(.touches, of: self)
  }

  /// Waits until the journal knows what other processes have accessed before: they write it within a
  /// second. One that is stopped, or goes on reading all the time, is waited for no longer than that.
  func waitForTouches() {
    for _ in 0..<Self.touchWaits
    where pendingTouches.areElsewhere(place.staging.raw, fileSystem) && !upkeep.isStopping {
      pause.wait(nanoseconds: Self.touchWaitNanoseconds) { _ in nil as Void? }
    }
    state.withLock { follow(&$0) }
  }

  /// 1.3 seconds in all: the delay of accesses, and the time to write them.
  private static var touchWaits: Int { 130 }
  private static var touchWaitNanoseconds: Int64 { 10_000_000 }
}
