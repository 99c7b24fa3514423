import CacheSystem

/// The real files; each call is first told to whoever conforms, which lets it fail by throwing.
protocol ForwardingFiles: FileSystem {
  /// A file is about to be opened.
  func willOpen(_ path: PathName, _ options: OpenOptions) throws(SystemError)
  /// A path that the user gave is about to be opened.
  func willOpen(userPath: String, _ options: OpenOptions) throws(SystemError)
  /// A call that changes nothing is about to be made.
  func willLook() throws(SystemError)
  /// A call that changes the disk is about to be made; opening is told apart.
  func willChange(_ call: @autoclosure () -> String) throws(SystemError)
}

extension ForwardingFiles {
  private var real: RealFileSystem { RealFileSystem() }

  func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    try willOpen(path, options)
    return try real.openOnce(path, in: directory, options, mode: mode)
  }
  func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    try willOpen(userPath: userPath, options)
    return try real.openOnce(userPath: userPath, options)
  }
  func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try willChange("mkdir \(userPath)")
    try real.makeDirectory(userPath: userPath, mode: mode)
  }
  func close(_ descriptor: Int32) { real.close(descriptor) }
  func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try willLook()
    return unsafe try real.readOnce(descriptor, into: buffer, at: offset)
  }
  func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try willChange("write")
    return unsafe try real.writeOnce(descriptor, from: buffer, at: offset)
  }
  func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    try willLook()
    return try real.length(of: descriptor)
  }
  func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    try willChange("truncate")
    try real.truncateOnce(descriptor, to: length)
  }
  func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
    try willLook()
    return try real.status(of: descriptor)
  }
  func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus {
    try willLook()
    return try real.status(at: name, in: directory)
  }
  func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus {
    try real.volume(of: descriptor)
  }
  func makeDirectory(_ name: PathName, in directory: Int32, mode: UInt16) throws(SystemError) {
    try willChange("mkdir \(name.text)")
    try real.makeDirectory(name, in: directory, mode: mode)
  }
  func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    try willChange("unlink \(name.text)")
    try real.removeFile(name, in: directory)
  }
  func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    try willChange("rmdir \(name.text)")
    try real.removeDirectory(name, in: directory)
  }
  func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try willChange("rename \(from.text)")
    try real.rename(from, in: fromDirectory, to: to, in: toDirectory)
  }
  func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try willChange("link \(from.text)")
    try real.link(from, in: fromDirectory, to: to, in: toDirectory)
  }
  func changeMode(at name: PathName, in directory: Int32, to mode: UInt16) throws(SystemError) {
    try willChange("chmod \(name.text)")
    try real.changeMode(at: name, in: directory, to: mode)
  }
  func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    try willLook()
    try real.lockOnce(descriptor, exclusive: exclusive, wait: wait)
  }
  func unlock(_ descriptor: Int32) { real.unlock(descriptor) }
  func map(_ descriptor: Int32, count: Int) throws(SystemError) -> UnsafeRawBufferPointer {
    unsafe try real.map(descriptor, count: count)
  }
  func unmap(_ bytes: UnsafeRawBufferPointer) { unsafe real.unmap(bytes) }
  func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError) {
    try willLook()
    try real.list(descriptor, body)
  }
}
