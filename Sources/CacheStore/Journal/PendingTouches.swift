internal import CacheSystem
internal import Synchronization

/// The announcement to other processes that this one has access times in memory that are not in the
/// journal yet. It is a shared lock (flock(2)) on the directory `staging`, held as long as there
/// are any.
///
/// Before entries are evicted, `waitForOthers` waits until no other process holds that lock.
final class PendingTouches: Sendable {
  private let isAnnounced = Mutex(false)
  /// The end of the last wait, by the monotonic clock.
  private let lastWait = Mutex<Int64>(.min)

  /// The nanoseconds for which access times stay only in memory.
  static var delayNanoseconds: Int64 { 1_000_000_000 }
  /// The number of attempts, and the pause between them. Together 1.3 seconds: the delay of access
  /// times, and the time to write them.
  private static var looks: Int { 130 }
  private static var lookNanoseconds: Int64 { 10_000_000 }

  /// Takes the lock. If another process is just testing it, tries again a few times, without
  /// waiting.
  func announce(_ staging: Int32, _ fileSystem: any FileSystem) {
    isAnnounced.withLock { isAnnounced in
      if !isAnnounced { isAnnounced = Self.share(staging, fileSystem) }
    }
  }

  /// Releases the lock, because the journal has all access times.
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

  /// Waits until no other process has announced accesses, at most 1.3 seconds.
  ///
  /// - Parameters:
  ///   - interval: the nanoseconds after a wait in which there is no other wait.
  ///   - isWanted: called again and again; the wait ends when it returns false.
  func waitForOthers(
    _ staging: Int32, _ fileSystem: any FileSystem, unlessWithin interval: Int64,
    while isWanted: () -> Bool
  ) {
    let isRecent = lastWait.withLock { $0 != .min && monotonicNanoseconds() - $0 < interval }
    if isRecent { return }
    for _ in 0..<Self.looks {
      guard areElsewhere(staging, fileSystem), isWanted() else { break }
      pause(nanoseconds: Self.lookNanoseconds)
    }
    lastWait.withLock { $0 = monotonicNanoseconds() }
  }

  private static func share(_ staging: Int32, _ fileSystem: any FileSystem) -> Bool {
    for _ in 0..<8
    where (try? fileSystem.lockOnce(staging, exclusive: false, wait: false)) != nil { return true }
    return false
  }
}
