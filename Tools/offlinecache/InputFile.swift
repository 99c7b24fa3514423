import CLibrary
import CacheFormat
import CacheSystem
import CommandLineTools

/// A file, or standard input, that is read from start to end.
final class InputFile {
  private let descriptor: Int32
  private let name: String
  private let files = RealFileSystem()

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

  deinit { if descriptor > 0 { files.close(descriptor) } }

  /// The number of bytes of a regular file; `nil` for a pipe or a terminal.
  var length: UInt64? {
    guard let status = try? files.status(of: descriptor), status.kind == .file else { return nil }
    return status.length
  }

  /// Returns the next bytes, or `nil` at the end.
  ///
  /// - Throws: ``Interrupted`` if the user interrupts the tool, even while no bytes arrive;
  ///   ``ToolError``.
  func read(upTo count: Int) throws -> [UInt8]? {
    while true {
      // Checks ten times a second whether the user has interrupted the tool.
      repeat {
        try Interruption.check()
      } while !Poll.isReady(descriptor, for: POLLIN, milliseconds: 100)
      do {
        let piece = try unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
          // Safety: the call writes at most as many bytes as the buffer has.
          filled = unsafe try files.readOnce(
            descriptor, into: UnsafeMutableRawBufferPointer(buffer), at: nil)
        }
        return piece.isEmpty ? nil : piece
      } catch let error as SystemError {
        // Another process that reads the same pipe may have been faster.
        if error != .wouldBlock { throw failure(error.code) }
      }
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
