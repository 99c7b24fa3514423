import CacheSystem
import Synchronization

/// The real files, whose next calls do what a script says.
final class ScriptedFiles: FileSystem {
  /// What one call does.
  enum Step: Sendable, Equatable {
    case fail(SystemError)
    /// Transfers so many bytes at most.
    case short(Int)
    /// Transfers nothing, and says so.
    case nothing
  }

  private let real = RealFileSystem()
  private let script: Mutex<[Step]>
  private let count = Atomic<Int>(0)

  init(_ script: [Step] = []) { self.script = Mutex(script) }

  /// The calls so far.
  var calls: Int { count.load(ordering: .relaxed) }

  /// Sets what the next calls do, and counts anew.
  func play(_ steps: [Step]) {
    script.withLock { $0 = steps }
    count.store(0, ordering: .relaxed)
  }

  private func next() throws(SystemError) -> Int {
    count.add(1, ordering: .relaxed)
    let step = script.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    switch step {
    case nil: return .max
    case .fail(let error): throw error
    case .short(let limit): return limit
    case .nothing: return 0
    }
  }

  func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    _ = try next()
    return try real.openOnce(path, in: directory, options, mode: mode)
  }

  func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    _ = try next()
    return try real.openOnce(userPath: userPath, options)
  }

  func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    let limit = try next()
    // Safety: a part of the caller's buffer.
    let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(limit))
    return unsafe try real.readOnce(descriptor, into: part, at: offset)
  }

  func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    let limit = try next()
    // Safety: a part of the caller's buffer.
    let part = unsafe UnsafeRawBufferPointer(rebasing: buffer.prefix(limit))
    return unsafe try real.writeOnce(descriptor, from: part, at: offset)
  }

  func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    _ = try next()
    try real.truncateOnce(descriptor, to: length)
  }

  func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    _ = try next()
    try real.synchronizeOnce(descriptor, names: names)
  }

  func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    _ = try next()
    try real.lockOnce(descriptor, exclusive: exclusive, wait: wait)
  }
}

// What has nothing to retry.
extension ScriptedFiles {
  func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try real.makeDirectory(userPath: userPath, mode: mode)
  }
  func close(_ descriptor: Int32) { real.close(descriptor) }
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
  func makeDirectory(_ name: PathName, in directory: Int32, mode: UInt16) throws(SystemError) {
    try real.makeDirectory(name, in: directory, mode: mode)
  }
  func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    try real.removeFile(name, in: directory)
  }
  func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    try real.removeDirectory(name, in: directory)
  }
  func rename(_ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32)
    throws(SystemError)
  {
    try real.rename(from, in: fromDirectory, to: to, in: toDirectory)
  }
  func link(_ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32)
    throws(SystemError)
  {
    try real.link(from, in: fromDirectory, to: to, in: toDirectory)
  }
  func changeMode(at name: PathName, in directory: Int32, to mode: UInt16) throws(SystemError) {
    try real.changeMode(at: name, in: directory, to: mode)
  }
  func unlock(_ descriptor: Int32) { real.unlock(descriptor) }
  func map(_ descriptor: Int32, count: Int) throws(SystemError) -> UnsafeRawBufferPointer {
    unsafe try real.map(descriptor, count: count)
  }
  func unmap(_ bytes: UnsafeRawBufferPointer) { unsafe real.unmap(bytes) }
  func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError) {
    try real.list(descriptor, body)
  }
}
