internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The sync of the whole volume.
///
/// The system reports once that it could not write something, and counts those bytes as written: the
/// next call of syncfs(2) succeeds without them. Until its segment is dropped, the record of a settled
/// entry still carries the body, so the files can be written anew (`Settler.synchronizeSettled`).
final class VolumeSync: Sendable {
  private let place: StorePlace
  private let upkeep: Upkeep
  /// The calls of syncfs(2) that have failed. Held during a call: the system reports a failure once to all
  /// threads of a process.
  private let failures = Mutex<Int>(0)
  /// Whether a syncfs(2) has failed, if the file that shows it could not be made.
  private let isUnwritten = Atomic<Bool>(false)

  init(_ place: StorePlace, _ upkeep: Upkeep) {
    self.place = place
    self.upkeep = upkeep
  }

  /// The number of calls that have failed.
  var failureCount: Int { failures.withLock { $0 } }

  /// Synchronizes all files of the volume, so that files of settled entries survive a loss of power.
  /// For a caller that holds a shard.
  ///
  /// - Throws: an error also if an earlier call failed, and the files are not written anew yet. The upkeep
  ///   does that next.
  func synchronize() throws(StoreError) {
    let count = failureCount
    if hasUnwrittenFiles {
      upkeep.request(.compact)
      throw unwritten
    }
    try flush(unlessFailedSince: count)
  }

  /// Synchronizes the volume, and notes a failure for all processes. The note itself need not reach the
  /// disk: after a restart of the machine, what can be read is what is on the disk.
  ///
  /// - Parameters:
  ///   - known: the number of failures before the caller asked for files to be written anew. After
  ///     another one it must ask again.
  ///   - endsRepetition: whether the files are written anew, so that the note is removed.
  func flush(
    unlessFailedSince known: Int? = nil, endsRepetition: Bool = false
  ) throws(StoreError) {
    try failures.withLock { count throws(StoreError) in
      if let known, known != count { throw unwritten }
      do throws(SystemError) { try place.fileSystem.synchronizeVolume(of: place.root.raw) } catch {
        count += 1
        do throws(SystemError) {
          _ = try place.fileSystem.open(Layout.unwritten, in: place.journal, [.write, .create])
        } catch { isUnwritten.store(true, ordering: .relaxed) }
        throw StoreError(error, path: place.path)
      }
      guard endsRepetition else { return }
      isUnwritten.store(false, ordering: .relaxed)
      try system("\(place.path)/journal/\(Layout.unwritten.text)") { () throws(SystemError) in
        do throws(SystemError) {
          try place.fileSystem.removeFile(Layout.unwritten, in: place.journal.raw)
        } catch  where error == .notFound {}
      }
    }
  }

  private var unwritten: StoreError {
    StoreError(
      .inputOutput, path: place.path,
      cause: "the system could not write some files to the disk, and they are not written anew yet",
      remedy: "check the disk, then try again")
  }

  /// Whether files that were written before a failed call may not be on the disk.
  var hasUnwrittenFiles: Bool {
    isUnwritten.load(ordering: .relaxed)
      || !place.fileSystem.isMissing(Layout.unwritten, in: place.journal.raw)
  }
}
