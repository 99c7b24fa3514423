internal import CLibrary

/// A file for a user that gets its name only when it is complete.
///
/// The bytes go to a hidden file in the same folder, which is renamed at the end. Until then, an
/// old file of that name is unchanged. An error or a kill never leaves a part of the new file under
/// that name. Only one thread may use it at a time.
package final class ReplacementFile {
  private let path: [UInt8]
  private let hiddenPath: [UInt8]
  private var isHidden = true
  /// A second descriptor of the hidden file, which keeps the lock until the file has its name.
  private var lock: Int32 = -1

  /// The descriptor of the hidden file, for writing; -1 once it is closed.
  package private(set) var descriptor: Int32

  /// Creates the hidden file in the folder of `path`, with the permissions of the file that it will
  /// replace.
  ///
  /// - Parameter name: The name of the hidden file. If there is a file with this name, or for `nil`, the
  ///   hidden file has a random name. It is locked; flock(2).
  package init(at path: [UInt8], through name: [UInt8]? = nil) throws(SystemError) {
    // A system call would use the part before a NUL.
    if path.contains(0) { throw .notFound }
    let folder = UserPath.split(path).folder + [UInt8(ascii: "/")]
    var old = stat()
    // A link is replaced itself, so the permissions of what it leads to do not matter.
    // Safety: as below; lstat writes into the local.
    let isReplacing =
      unsafe withPath(path) { unsafe lstat($0, &old) } == 0 && old.st_mode & S_IFMT == S_IFREG
    let mode: UInt32 = isReplacing ? 0o600 : 0o666
    self.path = path
    if let name, let locked = Self.createdAndLocked(folder + name, mode) {
      (hiddenPath, descriptor) = (folder + name, locked)
      lock = fcntl(locked, F_DUPFD_CLOEXEC, 0)
    } else {
      // 64 random bits; short enough for any file system.
      let unique = String(UInt64.random(in: .min ... .max), radix: 36)
      hiddenPath = folder + Array(".offlinecache-\(unique).part".utf8)
      descriptor = try Self.created(hiddenPath, mode)
      _ = try? RealFileSystem().lockOnce(descriptor, exclusive: true, wait: false)
      lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    }
    if isReplacing { _ = fchmod(descriptor, old.st_mode & 0o777) }
  }

  private static func created(_ path: [UInt8], _ mode: UInt32) throws(SystemError) -> Int32 {
    try openPath(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode: mode)
  }

  /// Creates and locks a file; returns `nil` if there is one, or others have removed the new one before
  /// it was locked, because they took it for that of a killed process.
  private static func createdAndLocked(_ path: [UInt8], _ mode: UInt32) -> Int32? {
    guard let descriptor = try? created(path, mode) else { return nil }
    let files = RealFileSystem()
    do throws(SystemError) {
      try files.lockOnce(descriptor, exclusive: true, wait: false)
      if try files.status(of: descriptor).linkCount == 1 { return descriptor }
    } catch {
      // Where there are no locks, nobody removes the file either.
      if error != .wouldBlock { return descriptor }
    }
    _ = CLibrary.close(descriptor)
    return nil
  }

  deinit {
    try? close()
    removeHidden()
    if lock >= 0 { _ = CLibrary.close(lock) }
  }

  /// Appends bytes.
  package func write(_ bytes: [UInt8]) throws(SystemError) {
    if let number = writeBytes(bytes, to: descriptor) { throw SystemError(number) }
  }

  /// Closes the hidden file; removes it if that fails.
  package func close() throws(SystemError) {
    guard descriptor >= 0 else { return }
    let failed = CLibrary.close(descriptor) != 0
    let number = errno
    descriptor = -1
    guard failed else { return }
    removeHidden()
    throw SystemError(number)
  }

  /// Renames the file to its final name and replaces an old one; rename(2). Removes the hidden file
  /// if that fails.
  package func moveIntoPlace() throws(SystemError) {
    // Safety: `withPath` passes zero-terminated copies that live during the call.
    let number = unsafe withPath(hiddenPath) { from in
      unsafe withPath(path) { to in unsafe rename(from, to) == 0 ? 0 : errno }
    }
    if number != 0 {
      removeHidden()
      throw SystemError(number)
    }
    isHidden = false
  }

  private func removeHidden() {
    guard isHidden else { return }
    isHidden = false
    // Safety: `withPath` passes a zero-terminated copy that lives during the call.
    unsafe withPath(hiddenPath) { _ = unsafe unlink($0) }
  }
}

/// Writes all bytes to a descriptor; returns `nil`, or the error number.
///
/// Interrupted calls are repeated. If the descriptor is in non-blocking mode (some parent processes
/// leave the terminal in it), the function waits until it is writable.
package func writeBytes(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
  var offset = 0
  return writeBytes(bytes, from: &offset, to: descriptor)
}

/// Does the same from an offset on, which it advances past the bytes that were written.
package func writeBytes(_ bytes: [UInt8], from offset: inout Int, to descriptor: Int32) -> Int32? {
  while offset < bytes.count {
    // Safety: the pointer and the count stay within the array, which lives during the call.
    let (count, number) = unsafe bytes.withUnsafeBytes { raw in
      let rest = unsafe UnsafeRawBufferPointer(rebasing: raw[offset...])
      let count = unsafe write(descriptor, rest.baseAddress, rest.count)
      return (count, count < 0 ? errno : 0)
    }
    if count >= 0 {
      offset += count
    } else if number == EAGAIN {
      Poll.isReady(descriptor, for: POLLOUT, milliseconds: -1)
    } else if number != EINTR {
      return number
    }
  }
  return nil
}

/// Opens a file; open(2). The caller owns the descriptor.
package func openPath(
  _ path: [UInt8], _ flags: Int32, mode: UInt32 = 0
) throws(SystemError) -> Int32 {
  // Safety: `withPath` passes a zero-terminated copy that lives during the call.
  let (descriptor, number) = unsafe withPath(path) {
    let opened = unsafe open($0, flags, mode_t(mode))
    return (opened, errno)
  }
  if descriptor < 0 { throw SystemError(number) }
  return descriptor
}

/// Passes a path to a system call, as a zero-terminated string.
package func withPath<Result>(
  _ path: [UInt8], _ body: (UnsafePointer<CChar>) -> Result
) -> Result {
  // Safety: the copy ends with a zero, is not empty, and lives during the call; CChar is one byte.
  unsafe (path + [0]).withUnsafeBytes { raw in
    unsafe body(raw.assumingMemoryBound(to: CChar.self).baseAddress!)
  }
}
