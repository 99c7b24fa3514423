import CacheSystem
import Synchronization

/// The real files; refuses and counts whatever would change them, and can do something before a file
/// is opened.
final class WatchedFiles: FileSystem {
  private let real = RealFileSystem()
  private let changes = Mutex<[String]>([])
  private let beforeOpening: @Sendable (PathName) -> Void

  init(beforeOpening: @escaping @Sendable (PathName) -> Void = { _ in }) {
    self.beforeOpening = beforeOpening
  }

  /// The calls that were refused.
  var refused: [String] { changes.withLock { $0 } }

  private func refuse(_ call: String) -> SystemError {
    changes.withLock { $0.append(call) }
    return .readOnlyFileSystem
  }

  func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    if !options.isDisjoint(with: [.write, .create]) { throw refuse("open \(path.text)") }
    beforeOpening(path)
    return try real.openOnce(path, in: directory, options, mode: mode)
  }
  func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    if !options.isDisjoint(with: [.write, .create]) { throw refuse("open \(userPath)") }
    return try real.openOnce(userPath: userPath, options)
  }
  func close(_ descriptor: Int32) { real.close(descriptor) }
  func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int { unsafe try real.readOnce(descriptor, into: buffer, at: offset) }
  func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    try real.length(of: descriptor)
  }
  func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
    try real.status(of: descriptor)
  }
  func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus {
    try real.status(at: name, in: directory)
  }
  func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus {
    try real.volume(of: descriptor)
  }
  func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    try real.lockOnce(descriptor, exclusive: exclusive, wait: wait)
  }
  func unlock(_ descriptor: Int32) { real.unlock(descriptor) }
  func map(_ descriptor: Int32, count: Int) throws(SystemError) -> UnsafeRawBufferPointer {
    unsafe try real.map(descriptor, count: count)
  }
  func unmap(_ bytes: UnsafeRawBufferPointer) { unsafe real.unmap(bytes) }
  func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError) {
    try real.list(descriptor, body)
  }

  func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    throw refuse("mkdir \(userPath)")
  }
  func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int { throw refuse("write") }
  func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    throw refuse("truncate")
  }
  func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    throw refuse("sync")
  }
  func makeDirectory(
    _ name: PathName, in directory: Int32, mode: UInt16
  ) throws(SystemError) { throw refuse("mkdir \(name.text)") }
  func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    throw refuse("unlink \(name.text)")
  }
  func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    throw refuse("rmdir \(name.text)")
  }
  func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) { throw refuse("rename \(from.text)") }
  func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) { throw refuse("link \(from.text)") }
  func changeMode(
    at name: PathName, in directory: Int32, to mode: UInt16
  ) throws(SystemError) { throw refuse("chmod \(name.text)") }
}
