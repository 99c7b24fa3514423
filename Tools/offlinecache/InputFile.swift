import CLibrary
import CacheSystem
import CommandLineTools

/// A file, or standard input, that is read from start to end.
final class InputFile {
  private let descriptor: Int32
  private let name: String

  /// Opens a file; `-` is standard input.
  ///
  /// - Throws: ``ToolError`` with the reason if it cannot be read or is a folder.
  init(_ path: Argument) throws {
    name = Self.name(of: path)
    if path == "-" {
      descriptor = 0
      return
    }
    do throws(SystemError) {
      descriptor = try openPath(path.bytes, O_RDONLY | O_CLOEXEC)
    } catch {
      descriptor = -1
      throw failure(error.code)
    }
  }

  /// Returns the name of a file in messages.
  static func name(of path: Argument) -> String {
    path == "-" ? "standard input" : path.description
  }

  /// Returns the bytes of a small file.
  ///
  /// - Throws: ``ToolError``, also if it is longer than the limit.
  static func bytes(
    of path: Argument, limit: Int = 1 << 20, remedy: String = "check the path"
  ) throws -> [UInt8] {
    let file = try InputFile(path)
    var bytes: [UInt8] = []
    while let piece = try file.read(upTo: 1 << 18) {
      bytes += piece
      guard bytes.count <= limit else {
        throw ToolError(
          subject: file.name, problem: "is longer than \(ByteCount(UInt64(limit)))",
          remedy: remedy)
      }
    }
    return bytes
  }

  deinit { if descriptor > 0 { close(descriptor) } }

  /// The number of bytes of a regular file; `nil` for a pipe or a terminal.
  var length: UInt64? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return UInt64(clamping: status.st_size)
  }

  /// Returns the next bytes, or `nil` at the end.
  ///
  /// - Throws: ``Interrupted`` if the user interrupts the tool, even while no bytes arrive;
  ///   ``ToolError``.
  func read(upTo count: Int) throws -> [UInt8]? {
    while true {
      try waitUntilReadable()
      var number: Int32 = 0
      let piece = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        // Safety: read writes at most `count` bytes into a buffer of that capacity.
        let result = unsafe readOnce(descriptor, buffer.baseAddress, count)
        number = result < 0 ? errno : 0
        filled = max(0, result)
      }
      if number == 0 { return piece.isEmpty ? nil : piece }
      if number != EINTR && number != EAGAIN { throw failure(number) }
    }
  }

  /// Waits for bytes. Checks ten times a second whether the user has interrupted the tool.
  private func waitUntilReadable() throws {
    while true {
      try Interruption.check()
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      // Safety: poll reads and writes the one pollfd that is passed.
      let ready = unsafe poll(&request, 1, 100)
      if ready > 0 { return }
      if ready < 0 && errno != EINTR { return }
    }
  }

  private func failure(_ number: Int32) -> ToolError {
    let remedy =
      switch number {
      case EISDIR: "name a file"
      case EACCES, EPERM: "check its permissions"
      case EBADF: "it is closed; leave out <&- or name a file"
      default: "check the path"
      }
    return ToolError(
      subject: name, problem: "cannot be read: \(SystemError(number))", remedy: remedy)
  }
}

/// Calls read(2). Inside the class, the method of the same name hides it.
private func readOnce(
  _ descriptor: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int
) -> Int {
  // Safety: the caller guarantees that `count` bytes at `buffer` are writable.
  unsafe read(descriptor, buffer, count)
}
