import CLibrary
import Testing

/// The two ends of a pipe; whoever makes it closes them.
package struct Pipe {
  package let reader: Int32
  package let writer: Int32

  package init() throws {
    var ends: [Int32] = [0, 0]
    // Safety: pipe writes two descriptors into the array of two.
    let result = unsafe pipe(&ends)
    try #require(result == 0)
    // A child must not inherit the ends, or it would wait for itself.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (reader, writer) = (ends[0], ends[1])
  }

  /// How many bytes were written and not read.
  package var waitingBytes: Int32 {
    get throws {
      var count: Int32 = 0
      // Safety: FIONREAD fills one C int.
      let result = unsafe ioctl(reader, UInt(FIONREAD), &count)
      try #require(result == 0)
      return count
    }
  }

  /// Whether the next write waits for a reader.
  package var isFull: Bool {
    var end = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
    // Safety: poll reads and writes the one pollfd that is passed.
    return unsafe poll(&end, 1, 0) == 0
  }
}

/// Waits a millisecond before the next look at something that announces no change, such as the first
/// file of another process. Without it, the wait would take the processor from that process.
package func waitForNextLook() { _ = poll(nil, 0, 1) }

/// Returns the path of the image the tests are in.
package func imagePath() throws -> String {
  #if canImport(Darwin)
    var info = Dl_info()
    // Safety: dladdr fills the local with strings that live as long as the image.
    let isKnown = unsafe dladdr(#dsohandle, &info) != 0
    try #require(isKnown)
    return unsafe String(cString: info.dli_fname)
  #else
    var buffer = [CChar](repeating: 0, count: 4096)
    // Safety: readlink writes at most the capacity that is passed.
    let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
    try #require(count > 0)
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  #endif
}

/// Tells whether something stands at a path.
package func exists(_ path: String) -> Bool {
  // Safety: the path is zero-terminated for the call.
  unsafe access(path, F_OK) == 0
}

/// Makes a symbolic link.
package func makeLink(_ path: String, to target: String) throws {
  // Safety: both paths are zero-terminated for the call.
  let result = unsafe symlink(target, path)
  try #require(result == 0)
}

/// Tells whether a path is a device.
package func isDevice(_ path: String) -> Bool {
  var status = stat()
  // Safety: stat fills the local.
  return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR
}

/// Opens a file that a child does not inherit.
package func openFile(_ path: String, _ flags: Int32) throws -> Int32 {
  // Safety: the path is zero-terminated for the call.
  let descriptor = unsafe open(path, flags | O_CLOEXEC, 0o600)
  try #require(descriptor >= 0, "\(path) cannot be opened")
  return descriptor
}

/// Reads what has come, and waits where that is nothing; empty at the end.
package func read(_ descriptor: Int32, atMost count: Int) throws -> [UInt8] {
  var buffer = [UInt8](repeating: 0, count: count)
  // Safety: read writes at most as many bytes as the array has.
  let count = unsafe read(descriptor, &buffer, buffer.count)
  try #require(count >= 0)
  return Array(buffer.prefix(count))
}

/// Reads to the end of a descriptor.
package func readAll(_ descriptor: Int32) throws -> [UInt8] {
  var result: [UInt8] = []
  while true {
    let piece = try read(descriptor, atMost: 1 << 16)
    if piece.isEmpty { return result }
    result += piece
  }
}

/// Writes all bytes to a file or a pipe with room for them.
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws {
  // Safety: write reads as many bytes as the array has.
  let count = unsafe write(descriptor, bytes, bytes.count)
  try #require(count == bytes.count)
}

/// Tells that a folder cannot be listed.
package struct MissingFolder: Error {}

/// Lists the names in a folder, without `.` and `..`.
package func names(in folder: String) throws -> Set<String> {
  // Safety: the stream is used by this call alone and closed at its end.
  guard let stream = unsafe opendir(folder) else { throw MissingFolder() }
  defer { unsafe closedir(stream) }
  var result: Set<String> = []
  // Safety: each entry is good until the next call; its name is copied at once.
  while let entry = unsafe readdir(stream) {
    let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { raw in
      unsafe String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
    }
    result.insert(name)
  }
  return result.subtracting([".", ".."])
}
