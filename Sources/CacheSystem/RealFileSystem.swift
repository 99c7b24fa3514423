internal import CLibrary
internal import CPlatform

/// The files of the operating system.
package struct RealFileSystem: FileSystem {
  /// Whether a call that a signal interrupts is repeated. Only `Tools/torture`, which has to notice
  /// what comes of it, leaves that out.
  private let repeatsInterrupted: Bool

  /// Creates the file system.
  package init() { self.init(repeatsInterrupted: true) }

  package init(repeatsInterrupted: Bool) { self.repeatsInterrupted = repeatsInterrupted }

  package func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    Int32(
      try check {
        unsafe path.withCString { unsafe cp_open(directory, $0, options.rawValue, mode) }
      })
  }

  package func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    try checkText(userPath)
    let flags = options.union(.follow).rawValue
    return Int32(try check { unsafe userPath.withCString { unsafe cp_open(-1, $0, flags, 0) } })
  }

  package func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try checkText(userPath)
    try check {
      unsafe userPath.withCString { unsafe cp_make_directory(cp_working_directory(), $0, mode) }
    }
  }

  package func close(_ descriptor: Int32) { cp_close(descriptor) }

  package func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    // Safety: the call accesses at most `count` bytes of the buffer.
    try check { unsafe cp_read(descriptor, buffer.baseAddress, buffer.count, offset ?? -1) }
  }

  package func readFile(
    _ path: PathName, in directory: Int32, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    // Safety: the call accesses at most `count` bytes of the buffer.
    try check {
      unsafe path.withCString {
        unsafe cp_read_file(directory, $0, buffer.baseAddress, buffer.count)
      }
    }
  }

  package func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    // Safety: the call accesses at most `count` bytes of the buffer.
    try check { unsafe cp_write(descriptor, buffer.baseAddress, buffer.count, offset ?? -1) }
  }

  package func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    Int64(try check { cp_length(descriptor) })
  }

  package func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    try check { cp_truncate(descriptor, length) }
  }

  package func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    try check { cp_synchronize(descriptor, names ? 1 : 0) }
  }

  package func synchronizeVolume(of descriptor: Int32) throws(SystemError) {
    try check { cp_synchronize_volume(descriptor) }
  }

  package func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
    var found = cp_status()
    try check { unsafe cp_status_of(descriptor, &found) }
    return FileStatus(found)
  }

  package func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus {
    var found = cp_status()
    try check { unsafe name.withCString { unsafe cp_status_at(directory, $0, 0, &found) } }
    return FileStatus(found)
  }

  /// Returns the status of what is at a path of the user, after symbolic links.
  ///
  /// It is not opened: a process that closes a file loses its locks of it (fcntl(2)), which SQLite
  /// has on a database.
  package func status(userPath path: String) throws(SystemError) -> FileStatus {
    try status(userPath: Array(path.utf8))
  }

  package func status(
    userPath path: [UInt8], followsLink: Bool = true
  ) throws(SystemError) -> FileStatus {
    if path.contains(0) { throw .notFound }
    var found = cp_status()
    try check {
      unsafe withPath(path) { path in
        unsafe cp_status_at(AT_FDCWD, path, followsLink ? 1 : 0, &found)
      }
    }
    return FileStatus(found)
  }

  /// Returns whether another process has a lock with which it may write to some bytes of a file;
  /// fcntl(2), `F_GETLK`. False if the file system has no locks.
  package func isWriteLocked(_ descriptor: Int32, _ bytes: Range<Int64>) -> Bool {
    var lock = flock()
    lock.l_type = Int16(F_RDLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = off_t(bytes.lowerBound)
    lock.l_len = off_t(bytes.count)
    // Safety: the structure lives during the call, which writes to nothing else.
    let result = unsafe fcntl(descriptor, F_GETLK, &lock)
    return result == 0 && lock.l_type != Int16(F_UNLCK)
  }

  package func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus {
    var found = cp_volume()
    try check { unsafe cp_volume_of(descriptor, &found) }
    return VolumeStatus(
      blockBytes: found.block_size, totalBytes: found.total_bytes,
      availableBytes: found.available_bytes, availableFiles: found.available_files)
  }

  package func makeDirectory(
    _ name: PathName, in directory: Int32, mode: UInt16
  ) throws(SystemError) {
    try check { unsafe name.withCString { unsafe cp_make_directory(directory, $0, mode) } }
  }

  package func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    try check { unsafe name.withCString { unsafe cp_remove(directory, $0, 0) } }
  }

  package func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    try check { unsafe name.withCString { unsafe cp_remove(directory, $0, 1) } }
  }

  package func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try check {
      unsafe from.withCString { source in
        unsafe to.withCString { unsafe cp_rename(fromDirectory, source, toDirectory, $0) }
      }
    }
  }

  package func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    try check {
      unsafe from.withCString { source in
        unsafe to.withCString { unsafe cp_link(fromDirectory, source, toDirectory, $0) }
      }
    }
  }

  package func changeMode(
    at name: PathName, in directory: Int32, to mode: UInt16
  ) throws(SystemError) {
    try check { unsafe name.withCString { unsafe cp_change_mode(directory, $0, mode) } }
  }

  package func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    try check { cp_lock(descriptor, exclusive ? 1 : 0, wait ? 1 : 0) }
  }

  package func unlock(_ descriptor: Int32) { _ = cp_unlock(descriptor) }

  package func list(
    _ descriptor: Int32, _ body: (PathName, FileKind) -> Bool
  ) throws(SystemError) { try list(descriptor, isFresh: false, body) }

  package func list(
    fresh descriptor: Int32, _ body: (PathName, FileKind) -> Bool
  ) throws(SystemError) { try list(descriptor, isFresh: true, body) }

  private func list(
    _ descriptor: Int32, isFresh: Bool, _ body: (PathName, FileKind) -> Bool
  ) throws(SystemError) {
    var stream: UnsafeMutableRawPointer?
    try check { unsafe cp_list_open(descriptor, isFresh ? 1 : 0, &stream) }
    defer { unsafe cp_list_close(stream) }
    while true {
      var name: UnsafePointer<CChar>?
      var kind: UInt8 = 0
      if try check({ unsafe cp_list_next(stream, &name, &kind) }) == 0 { return }
      // Safety: the name is NUL-terminated and valid until the next call; it is copied here.
      guard let name = unsafe name,
        let path = unsafe PathName(
          bytes: UnsafeRawBufferPointer(start: name, count: cp_text_length(name)))
      else { continue }
      if !body(path, FileKind(rawValue: kind) ?? .other) { return }
    }
  }

  /// Throws for a path with a NUL: a system call would use the part before it, which may be another
  /// file.
  private func checkText(_ path: String) throws(SystemError) {
    if path.utf8.contains(0) { throw .notFound }
  }

  /// Makes a call, and repeats it if a signal interrupts it. POSIX allows EINTR for a few calls
  /// only, but a file system in user space (FUSE) may return it for any.
  @discardableResult
  private func check<Value: SignedInteger>(_ call: () -> Value) throws(SystemError) -> Int {
    while true {
      let result = call()
      if result >= 0 { return Int(result) }
      let error = SystemError(Int32(-result))
      if error != .interrupted || !repeatsInterrupted { throw error }
    }
  }
}

extension FileStatus {
  fileprivate init(_ found: cp_status) {
    self.init(
      length: found.length, allocated: found.allocated, fileNumber: found.file_number,
      linkCount: found.link_count, modified: found.modified_nanoseconds, owner: found.owner,
      mode: found.mode, kind: FileKind(rawValue: found.kind) ?? .other)
    device = found.device
  }
}
