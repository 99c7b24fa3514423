import CacheSystem
import Synchronization

/// The real files, until a change of the disk that is counted: that one fails, or it and all calls
/// after it, as when the process was killed there.
@safe
final class FailingFiles: FileSystem {
  enum Effect: Sendable, Equatable {
    case ends
    case fails(SystemError)
    /// Files whose names end like this cannot be opened for reading.
    case cannotOpen(String)
  }
  private let real = RealFileSystem()
  private let effect: Effect
  private let last: Int
  private let seen = Atomic<Int>(0)

  /// Makes files whose change with this number, from 0 on, strikes.
  init(_ effect: Effect, at number: Int) {
    self.effect = effect
    last = number
  }

  /// Whether it has struck.
  var hasStruck: Bool { seen.load(ordering: .relaxed) > last }

  private func change() throws(SystemError) {
    let number = seen.add(1, ordering: .relaxed).oldValue
    switch effect {
    case .ends: if number >= last { throw .inputOutput }
    case .fails(let error): if number == last { throw error }
    case .cannotOpen: break
    }
  }
  private func look() throws(SystemError) {
    if effect == .ends, seen.load(ordering: .relaxed) > last { throw .inputOutput }
  }

  func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    if options.contains(.create) { try change() } else { try look() }
    if case .cannotOpen(let end) = effect, options == [.read], path.text.hasSuffix("0." + end) {
      throw .inputOutput
    }
    return try real.openOnce(path, in: directory, options, mode: mode)
  }
  func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    try look()
    return try real.openOnce(userPath: userPath, options)
  }
  func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try change()
    try real.makeDirectory(userPath: userPath, mode: mode)
  }
  func close(_ descriptor: Int32) { real.close(descriptor) }
  func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try look()
    return unsafe try real.readOnce(descriptor, into: buffer, at: offset)
  }
  func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try change()
    return unsafe try real.writeOnce(descriptor, from: buffer, at: offset)
  }
  func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    try look()
    return try real.length(of: descriptor)
  }
  func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    try change()
    try real.truncateOnce(descriptor, to: length)
  }
  func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    try look()
  }
  func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
    try look()
    return try real.status(of: descriptor)
  }
  func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus {
    try look()
    return try real.status(at: name, in: directory)
  }
  func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus {
    try real.volume(of: descriptor)
  }
  func makeDirectory(_ name: PathName, in directory: Int32, mode: UInt16) throws(SystemError) {
    try change()
    try real.makeDirectory(name, in: directory, mode: mode)
  }
  func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    try change()
    try real.removeFile(name, in: directory)
  }
  func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    try change()
    try real.removeDirectory(name, in: directory)
  }
  func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try change()
    try real.rename(from, in: fromDirectory, to: to, in: toDirectory)
  }
  func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try change()
    try real.link(from, in: fromDirectory, to: to, in: toDirectory)
  }
  func changeMode(at name: PathName, in directory: Int32, to mode: UInt16) throws(SystemError) {
    try change()
    try real.changeMode(at: name, in: directory, to: mode)
  }
  func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    try look()
    try real.lockOnce(descriptor, exclusive: exclusive, wait: wait)
  }
  func unlock(_ descriptor: Int32) { real.unlock(descriptor) }
  func map(_ descriptor: Int32, count: Int) throws(SystemError) -> UnsafeRawBufferPointer {
    unsafe try real.map(descriptor, count: count)
  }
  func unmap(_ bytes: UnsafeRawBufferPointer) { unsafe real.unmap(bytes) }
  func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError) {
    try look()
    try real.list(descriptor, body)
  }
}
