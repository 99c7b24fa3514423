import CLibrary
internal import CacheSystem

package struct OutputError: Error, Hashable, CustomStringConvertible {
  /// The target of the output: a path, or `standard output`.
  package var path: String
  /// The reason, a number of errno(3).
  package var errno: Int32
  /// What is wrong with the path, if that is the reason.
  private var place: String?

  package init(path: String, errno: Int32) {
    self.path = path
    self.errno = errno
  }

  init(path: String, inStore store: Argument) {
    self.init(path: path, errno: EPERM)
    place = "this is in the folder of the store \(store), which must hold nothing else"
  }

  /// Creates the error for a path with a part that may have been planted (`UserPath.planted`).
  package init(path: String, planted: Argument) {
    self.init(path: path, errno: EPERM)
    place = "\(planted) belongs to another user, who may have put it there"
  }

  /// Whether the reader of a pipe has ended. No message is printed for that.
  var isClosedPipe: Bool { errno == EPIPE }

  /// The error in one line, without the name of the tool.
  package var description: String {
    if let place { return "\(path): \(place); choose another place" }
    let remedy =
      switch errno {
      case ENOSPC, EDQUOT: "free some space and run the command again"
      case EACCES, EPERM, EROFS: "write to a place where you may write"
      case ENOENT: "create the folder first"
      case ENOTDIR: "a part of this path is a file: name a folder there"
      case ENAMETOOLONG: "choose a shorter name"
      case EISDIR: "name a file, not a folder"
      default: "check where the output goes"
      }
    return "\(path): cannot be written: \(SystemError(errno)); \(remedy)"
  }
}

/// Writes bytes to a descriptor through a buffer.
///
/// `stdout` and `stderr` cannot be used in Swift 6 mode, so the tools write to descriptors. Bytes
/// may stay in the buffer until ``flush()``. There is no flush in a deinit, because an error would
/// be lost there.
package final class Output {
  /// The descriptor. It is not closed by this class.
  package let descriptor: Int32
  package let isTerminal: Bool
  private let name: String
  private let capacity: Int
  private var buffer: [UInt8] = []

  /// Creates a writer on a descriptor that the caller closes.
  package init(descriptor: Int32, name: String, capacity: Int = 1 << 16) {
    self.descriptor = descriptor
    self.name = name
    self.capacity = capacity
    isTerminal = Terminal.isTerminal(descriptor)
  }

  package static func standard() -> Output { Output(descriptor: 1, name: "standard output") }

  /// Writes bytes.
  ///
  /// - Throws: ``OutputError`` of these bytes or of earlier ones.
  package func write(_ bytes: [UInt8]) throws(OutputError) {
    if buffer.count + bytes.count > capacity { try flush() }
    if bytes.count >= capacity {
      try writeAll(bytes)
    } else {
      buffer += bytes
    }
  }

  package func write(_ text: String) throws(OutputError) { try write(Array(text.utf8)) }

  /// Writes text and a line feed. On a terminal the line is written at once.
  package func writeLine(_ text: String) throws(OutputError) {
    try write(text + "\n")
    if isTerminal { try flush() }
  }

  package static func printLines(_ lines: [String]) throws(OutputError) {
    let output = standard()
    for line in lines { try output.writeLine(line) }
    try output.flush()
  }

  package func flush() throws(OutputError) {
    let waiting = buffer
    buffer.removeAll(keepingCapacity: true)
    try writeAll(waiting)
  }

  /// Writes all bytes, with as many calls of write(2) as that takes.
  private func writeAll(_ bytes: [UInt8]) throws(OutputError) {
    if let number = writeBytes(bytes, to: descriptor) {
      throw OutputError(path: name, errno: number)
    }
  }
}

/// Prints a message of one line to standard error, with control characters escaped: names and errors are
/// part of it. A failure is ignored, because it could not be reported.
package func printMessage(_ text: String) {
  _ = writeBytes(Array((withoutControls(text) + "\n").utf8), to: 2)
}

/// Opens `/dev/null` for each of the descriptors 0, 1 and 2 that the parent process left closed.
///
/// Otherwise the next file that is opened, perhaps a file of a store, would get the number, and
/// messages would be written to it. As with a closed descriptor, input cannot be read, and output cannot
/// be written.
func fillStandardDescriptors() {
  for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 {
    // The lowest free number is taken, which is this one. Inherited by child processes, like the
    // other standard descriptors.
    // Safety: the path is a zero-terminated constant.
    _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
  }
}
