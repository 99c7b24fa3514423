/// The ways to open a file. Opening does not follow a symbolic link in any component (except with
/// `follow`) and does not block; the descriptor is closed on exec.
package struct OpenOptions: OptionSet, Sendable {
  package let rawValue: Int32
  package init(rawValue: Int32) { self.rawValue = rawValue }
  package static let read = OpenOptions(rawValue: 1)
  package static let write = OpenOptions(rawValue: 2)
  package static let create = OpenOptions(rawValue: 4)
  package static let exclusive = OpenOptions(rawValue: 8)
  package static let directory = OpenOptions(rawValue: 16)
  /// Follows symbolic links; only for paths that the user gave.
  package static let follow = OpenOptions(rawValue: 32)
}

/// The kind of file that a name in a directory refers to.
package enum FileKind: UInt8, Sendable {
  case other = 0
  case file = 1
  case directory = 2
  case link = 3
}

/// The status of a file, from fstat(2).
package struct FileStatus: Sendable, Hashable {
  /// The length in bytes.
  package var length: UInt64
  /// The number of bytes that are actually allocated.
  package var allocated: UInt64
  /// The inode number.
  package var fileNumber: UInt64
  /// The number of the volume.
  package var device: UInt64 = 0
  package var linkCount: UInt64
  /// The time of the last change of the content, in nanoseconds since 1970.
  package var modified: Int64
  /// The user id of the owner.
  package var owner: UInt32
  /// The permission bits, 07777.
  package var mode: UInt16
  package var kind: FileKind

  /// Creates a status, for other implementations of ``FileSystem``.
  package init(
    length: UInt64, allocated: UInt64, fileNumber: UInt64, linkCount: UInt64, modified: Int64,
    owner: UInt32, mode: UInt16, kind: FileKind
  ) {
    self.length = length
    self.allocated = allocated
    self.fileNumber = fileNumber
    self.linkCount = linkCount
    self.modified = modified
    self.owner = owner
    self.mode = mode
    self.kind = kind
  }

  /// The file itself, whatever its names.
  package var identity: FileIdentity { FileIdentity(device: device, fileNumber: fileNumber) }
}

/// A file of the machine. Another one may get its numbers once it is removed.
package struct FileIdentity: Sendable, Hashable {
  let device: UInt64
  let fileNumber: UInt64
}

/// The status of a volume, from statvfs(3).
package struct VolumeStatus: Sendable, Hashable {
  /// The size of a block in bytes.
  package var blockBytes: UInt64
  /// The size of the volume in bytes; 0 if the file system does not tell.
  package var totalBytes: UInt64
  /// The number of bytes that this user may still write.
  package var availableBytes: UInt64
  /// The number of free inodes; `.max` if the file system has no such limit.
  package var availableFiles: UInt64

  /// Creates a status, for other implementations of ``FileSystem``.
  package init(
    blockBytes: UInt64, totalBytes: UInt64, availableBytes: UInt64, availableFiles: UInt64
  ) {
    self.blockBytes = blockBytes
    self.totalBytes = totalBytes
    self.availableBytes = availableBytes
    self.availableFiles = availableFiles
  }
}

/// The files of the operating system, one method for each system call that the store uses.
///
/// A method may transfer fewer bytes than requested and may fail with EINTR. The retries and loops
/// are in the extension, so they also work with a simulated file system that fails. Descriptors are
/// plain numbers here; a `Descriptor` owns one.
package protocol FileSystem: Sendable {
  /// openat(2). A negative `directory` means the working directory.
  func openOnce(_ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16)
    throws(SystemError) -> Int32
  /// open(2) of a path that the user gave, following links.
  func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32
  /// mkdir(2) of a path that the user gave.
  func makeDirectory(userPath: String, mode: UInt16) throws(SystemError)
  func close(_ descriptor: Int32)
  /// pread(2), or read(2) if `offset` is `nil`.
  func readOnce(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?)
    throws(SystemError) -> Int
  /// Opens a file, reads from its beginning, and closes it. Reading stops at the end of the file or
  /// when the buffer has room for at most one more byte. A hit needs only this call. The default
  /// uses the calls above.
  func readFile(_ path: PathName, in directory: Int32, into buffer: UnsafeMutableRawBufferPointer)
    throws(SystemError) -> Int
  /// pwrite(2), or write(2) if `offset` is `nil`.
  func writeOnce(_ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?)
    throws(SystemError) -> Int
  /// Returns the length of a regular file below 4 GiB in bytes, by ioctl(2), which is the cheapest way.
  /// The position of the descriptor has to be 0, so only calls with an offset may be combined with it.
  /// It changes nothing, so a descriptor may be closed meanwhile and its number used for another file.
  func length(of descriptor: Int32) throws(SystemError) -> Int64
  /// ftruncate(2).
  func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError)
  /// fdatasync(2); fsync(2) if `names` is true, which also synchronizes the metadata that is needed
  /// to find the file.
  func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError)
  /// syncfs(2): synchronizes all files and names of the volume of a descriptor.
  func synchronizeVolume(of descriptor: Int32) throws(SystemError)
  func status(of descriptor: Int32) throws(SystemError) -> FileStatus
  /// fstatat(2) that does not follow a link.
  func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus
  func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus
  func makeDirectory(_ name: PathName, in directory: Int32, mode: UInt16) throws(SystemError)
  func removeFile(_ name: PathName, in directory: Int32) throws(SystemError)
  func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError)
  func rename(_ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32)
    throws(SystemError)
  /// linkat(2): adds a second name for the same file.
  func link(_ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32)
    throws(SystemError)
  /// fchmodat(2) that does not follow a link; also works for a file that cannot be opened.
  func changeMode(at name: PathName, in directory: Int32, to mode: UInt16) throws(SystemError)
  /// flock(2). Fails with `.wouldBlock` if `wait` is false and the lock is held elsewhere.
  func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError)
  func unlock(_ descriptor: Int32)
  /// readdir(3): calls `body` with each name and its kind until it returns false. "." and ".." are
  /// left out. Names that are added or removed meanwhile may or may not be included.
  func list(_ descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError)
  /// Does the same as `list`, with fewer calls. It may read through `descriptor` itself, so nothing
  /// may have been read from that directory since it was opened. The default calls `list`.
  func list(fresh descriptor: Int32, _ body: (PathName, FileKind) -> Bool) throws(SystemError)
}

extension FileSystem {
  package func list(
    fresh descriptor: Int32, _ body: (PathName, FileKind) -> Bool
  ) throws(SystemError) { try list(descriptor, body) }

  package func readFile(
    _ path: PathName, in directory: Int32, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    let file = try open(path, in: directory, [.read])
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let position = Int64(done)
      let number = file.raw
      let got = try retryOnInterrupt { () throws(SystemError) in
        unsafe try readOnce(number, into: rest, at: position)
      }
      done += got
      // The buffer has one byte more than the expected length, so the file has ended.
      if got == 0 || done + 1 == buffer.count { break }
    }
    return done
  }

  /// Opens a file relative to a directory.
  package func open(
    _ path: PathName, in directory: borrowing Descriptor, _ options: OpenOptions,
    mode: UInt16 = 0o600
  ) throws(SystemError) -> Descriptor {
    try open(path, in: directory.raw, options, mode: mode)
  }

  /// Opens a file relative to a directory, which the caller keeps open.
  package func open(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16 = 0o600
  ) throws(SystemError) -> Descriptor {
    let raw = try retryOnInterrupt { () throws(SystemError) in
      try openOnce(path, in: directory, options, mode: mode)
    }
    return Descriptor(raw, of: self)
  }

  package func open(userPath: String, _ options: OpenOptions) throws(SystemError) -> Descriptor {
    let raw = try retryOnInterrupt { () throws(SystemError) in
      try openOnce(userPath: userPath, options)
    }
    return Descriptor(raw, of: self)
  }

  /// Reads until the buffer is full or the file ends.
  ///
  /// - Returns: the number of bytes read; less than the size of the buffer only at the end of the
  ///   file.
  package func read(
    _ descriptor: borrowing Descriptor, into buffer: UnsafeMutableRawBufferPointer,
    at offset: Int64?
  ) throws(SystemError) -> Int {
    let raw = descriptor.raw
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let position = offset.map { $0 + Int64(done) }
      let count = try retryOnInterrupt { () throws(SystemError) in
        unsafe try readOnce(raw, into: rest, at: position)
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Writes every byte of the buffer.
  package func write(
    _ descriptor: borrowing Descriptor, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) {
    let raw = descriptor.raw
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
      let position = offset.map { $0 + Int64(done) }
      let count = try retryOnInterrupt { () throws(SystemError) in
        unsafe try writeOnce(raw, from: rest, at: position)
      }
      // A call that writes nothing and reports no error would be repeated for ever.
      if count == 0 { throw .inputOutput }
      done += count
    }
  }

  package func truncate(
    _ descriptor: borrowing Descriptor, to length: Int64
  ) throws(SystemError) {
    let raw = descriptor.raw
    try retryOnInterrupt { () throws(SystemError) in try truncateOnce(raw, to: length) }
  }

  /// Makes the written data survive loss of power. After a failure, the file must be considered
  /// lost, because a second call may succeed without the data (fsync(2), "NOTES").
  package func synchronize(
    _ descriptor: borrowing Descriptor, names: Bool
  ) throws(SystemError) {
    let raw = descriptor.raw
    try retryOnInterrupt { () throws(SystemError) in try synchronizeOnce(raw, names: names) }
  }

  /// Takes the advisory lock of a file or directory; waits until it is free.
  package func lock(_ descriptor: borrowing Descriptor, exclusive: Bool = true) throws(SystemError)
  {
    let raw = descriptor.raw
    try retryOnInterrupt { () throws(SystemError) in
      try lockOnce(raw, exclusive: exclusive, wait: true)
    }
  }

  /// Takes the advisory lock if it is free.
  ///
  /// - Returns: whether the lock was taken.
  package func tryLock(_ descriptor: borrowing Descriptor) throws(SystemError) -> Bool {
    let raw = descriptor.raw
    do {
      try retryOnInterrupt { () throws(SystemError) in
        try lockOnce(raw, exclusive: true, wait: false)
      }
      return true
    } catch  where error == .wouldBlock { return false } catch { throw error }
  }

  /// Takes the advisory lock, and waits at most so long until it is free. Nobody queues: whoever asks
  /// at the right moment gets it.
  ///
  /// - Returns: whether the lock was taken.
  package func lock(
    _ descriptor: borrowing Descriptor, within limit: Duration
  ) throws(SystemError) -> Bool {
    let end = ContinuousClock.now + limit
    while try !tryLock(descriptor) {
      guard ContinuousClock.now < end else { return false }
      pause(nanoseconds: 10_000_000)
    }
    return true
  }
}

/// An open file, which is closed when this value is destroyed.
package struct Descriptor: ~Copyable, Sendable {
  /// The number, valid as long as this value lives.
  package let raw: Int32
  private let system: any FileSystem

  /// Takes over an open descriptor.
  package init(_ raw: Int32, of system: any FileSystem) {
    self.raw = raw
    self.system = system
  }

  deinit { system.close(raw) }
}

/// An open file or folder that several objects share, or that is optional.
package final class OpenFile: Sendable {
  package let descriptor: Descriptor

  /// Takes over a descriptor.
  package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}
