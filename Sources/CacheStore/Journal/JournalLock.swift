internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// The open file `lock`. Its advisory lock is the lock of the journal.
///
/// The file may be replaced: if it has a second name (a hard link, as `cp -al` makes it), the store
/// writes a copy. So a thread that has taken the lock checks whether the name still stands for its
/// file. A new inode of the file also shows that a segment was begun whose predecessor has no seal.
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

  /// The inode of the file.
  var number: UInt64 { state.withLock { $0.number } }

  /// Waits for the lock and takes it.
  ///
  /// - Throws: the error of the system, also if the name cannot be queried.
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

  /// Returns whether the name still stands for the open file. A reader keeps the lock of a file
  /// that is gone.
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

  /// The bytes of the closing mark; `nil` if the file cannot be read.
  var mark: [UInt8]? {
    state.withLock { try? fileSystem.readBytes($0.file, count: ClosingMark.count, at: 0) }
  }

  /// Writes the closing mark. A file with a second name is replaced instead. The caller holds the
  /// lock.
  func write(_ mark: [UInt8], of place: StorePlace, _ clock: any WallClock) throws(SystemError) {
    let isLinked = try state.withLock { state throws(SystemError) in
      let isLinked = try fileSystem.status(of: state.file.raw).isLinked
      if !isLinked { try fileSystem.write(state.file, mark, at: 0) }
      return isLinked
    }
    if isLinked { try replace(with: mark, in: place.root, clock) }
  }

  /// Replaces the file by another one, whose lock is taken before it gets its name. The caller
  /// holds the lock.
  func replace(
    with bytes: [UInt8], in root: borrowing Descriptor, _ clock: any WallClock
  ) throws(SystemError) {
    let strays = StrayQuarantine(fileSystem, clock)
    try state.withLock { state throws(SystemError) in
      let new = try StorePlace.replace(
        Layout.lock, with: bytes, root, strays, synced: false, locked: true)
      state.number = try fileSystem.status(of: new.raw).fileNumber
      state.file = new
    }
  }
}

extension FileStatus {
  /// Whether a file has a second name (a hard link), which may be somebody else's. Then it is not
  /// written to, and keeps its mode.
  package var isLinked: Bool { kind == .file && linkCount > 1 }
}
