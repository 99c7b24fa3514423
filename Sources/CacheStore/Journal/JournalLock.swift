internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// The open file `lock`, whose advisory lock is that of the journal.
///
/// The name may come to stand for another file: one that is linked to a file outside, as `cp -al` leaves
/// it, is replaced by a copy. So whoever has taken the lock looks whether it is still that of the name.
/// The number of the file also says that a segment was begun whose predecessor has no seal.
final class JournalLock: Sendable {
  private struct State: ~Copyable {
    var file: Descriptor
    var number: UInt64
  }

  private let state: Mutex<State>
  private let isReadOnly: Bool
  private let fileSystem: any FileSystem

  /// Takes over the open file.
  init(
    _ file: consuming Descriptor, isReadOnly: Bool, _ fileSystem: any FileSystem
  ) throws(SystemError) {
    let number = try fileSystem.status(of: file.raw).fileNumber
    state = Mutex(State(file: file, number: number))
    self.isReadOnly = isReadOnly
    self.fileSystem = fileSystem
  }

  /// The number of the file.
  var number: UInt64 { state.withLock { $0.number } }

  /// Takes the lock, waiting for it.
  ///
  /// - Throws: also where the name cannot be looked at.
  func take(in root: borrowing Descriptor) throws(SystemError) {
    while true {
      let isHeld = try state.withLock { state throws(SystemError) -> Bool in
        try fileSystem.lock(state.file)
        do throws(SystemError) {
          if try isPresent(state, in: root) { return true }
        } catch {
          fileSystem.unlock(state.file.raw)
          throw error
        }
        fileSystem.unlock(state.file.raw)
        state.file = try fileSystem.open(
          Layout.lock, in: root, isReadOnly ? [.read] : [.read, .write, .create])
        state.number = try fileSystem.status(of: state.file.raw).fileNumber
        return false
      }
      if isHeld { return }
    }
  }

  /// Whether the name stands for the open file. A reader keeps the lock of a file that has gone.
  private func isPresent(
    _ state: borrowing State, in root: borrowing Descriptor
  ) throws(SystemError) -> Bool {
    do throws(SystemError) {
      return try fileSystem.status(at: Layout.lock, in: root.raw).fileNumber == state.number
    } catch  where error == .notFound { return isReadOnly }
  }

  /// Releases the lock.
  func release() { state.withLock { fileSystem.unlock($0.file.raw) } }

  /// Calls `body` with the open file.
  func withFile<R: Sendable>(_ body: (borrowing Descriptor) -> R) -> R {
    state.withLock { body($0.file) }
  }

  /// The mark that the file has now.
  var mark: [UInt8]? {
    state.withLock { try? fileSystem.readBytes($0.file, count: ClosingMark.count, at: 0) }
  }

  /// Writes the mark: never through a second name of the file. The caller holds the lock.
  func write(_ mark: [UInt8], of place: StorePlace, _ clock: any WallClock) throws(SystemError) {
    let isLinked = try state.withLock { state throws(SystemError) in
      let isLinked = try fileSystem.isLinked(state.file)
      if !isLinked { try fileSystem.write(state.file, mark, at: 0) }
      return isLinked
    }
    if isLinked { try replace(with: mark, in: place.root, clock) }
  }

  /// Puts another file in the place of this one, and holds its lock before anybody can see it. The
  /// caller holds the lock.
  func replace(
    with bytes: [UInt8], in root: borrowing Descriptor, _ clock: any WallClock
  ) throws(SystemError) {
    let strays = StrayQuarantine(fileSystem, clock)
    try state.withLock { state throws(SystemError) in
      let new = try StorePlace.replace(
        Layout.lock, with: bytes, root, strays, fileSystem, synced: false, locked: true)
      state.number = try fileSystem.status(of: new.raw).fileNumber
      state.file = new
    }
  }
}

extension FileSystem {
  /// Whether a file has another name, which may be anybody's: then it is not written to, and keeps its
  /// mode.
  func isLinked(_ file: borrowing Descriptor) throws(SystemError) -> Bool {
    try status(of: file.raw).isLinked
  }
}

extension FileStatus {
  /// Whether a file has another name, which may be anybody's.
  package var isLinked: Bool { kind == .file && linkCount > 1 }
}
