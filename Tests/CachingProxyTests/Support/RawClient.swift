import CLibrary
import TestSupport
import Testing

/// Talks to a server in bytes. Its calls wait, so they are made on threads of their own.
final class RawClient: Sendable {
  /// How a connection ended.
  enum End: Equatable {
    case closed, reset, open
  }

  /// What was read, and how that ended.
  struct Reading: Equatable {
    var bytes: [UInt8]
    var end: End
    var text: String { String(decoding: bytes, as: UTF8.self) }
    /// The status of the first answer; 0 if there is none.
    var status: Int { Int(text.dropFirst(9).prefix(3)) ?? 0 }
    /// What follows the first head.
    var body: String {
      text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? ""
    }
    /// The lines of the first head, without the status line.
    var fields: [String] {
      let head = text.firstRange(of: "\r\n\r\n").map { text[..<$0.lowerBound] } ?? ""
      return head.split(separator: "\r\n").dropFirst().map(String.init)
    }
    /// The first value of a field in the first head.
    func field(_ name: String) -> String? {
      fields.first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
        .map { String($0.dropFirst(name.count + 1)).trimmingSpaces }
    }
  }

  /// Tells that nobody listens.
  struct NoConnection: Error {}

  let descriptor: Int32

  /// Connects to a port of loopback.
  ///
  /// - Parameter receiveBuffer: how much the system takes ahead of the reader, in bytes.
  init(port: UInt16, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(AF_INET, streamType, 0)
    if descriptor < 0 { throw NoConnection() }
    // A test that waits longer than this has failed.
    setOption(SO_RCVTIMEO, timeval(tv_sec: 60, tv_usec: 0))
    if let receiveBuffer { setOption(SO_RCVBUF, receiveBuffer) }
    if !connectToLoopback(descriptor, port: port) { throw NoConnection() }
  }

  /// Takes over a connection.
  init(descriptor: Int32) {
    self.descriptor = descriptor
    setOption(SO_RCVTIMEO, timeval(tv_sec: 60, tv_usec: 0))
  }

  deinit { close(descriptor) }

  /// Makes the end of the connection an error for the other side.
  func breakConnection() { setOption(SO_LINGER, linger(l_onoff: 1, l_linger: 0)) }

  /// Waits for bytes, and reads those that are there; none at the end.
  func readSome() -> [UInt8] {
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    let got = unsafe piece.withUnsafeMutableBytes { buffer in
      // Safety: recv writes at most the size of the buffer.
      unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
    }
    return Array(piece[..<max(0, got)])
  }

  /// Sends all bytes; returns false when the server takes no more.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        // Safety: the rest of the buffer is read.
        unsafe sendBytes(
          descriptor, buffer.baseAddress?.advanced(by: sent), bytes.count - sent, noSignal)
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Sends bytes until nobody has taken any for half a second; returns how many were sent.
  func sendUntilBlocked(_ bytes: [UInt8]) -> Int {
    var sent = 0
    while sent < bytes.count {
      var item = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      // Safety: poll reads and writes the one item; send reads the rest of the buffer.
      guard unsafe poll(&item, 1, 500) > 0 else { return sent }
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe sendBytes(
          descriptor, buffer.baseAddress?.advanced(by: sent), bytes.count - sent,
          noSignal | Int32(MSG_DONTWAIT))
      }
      if count < 0, errno != EAGAIN { return sent }
      sent += max(0, count)
    }
    return sent
  }

  /// Sends a byte now and then, until the server ends the connection.
  func dribble(_ byte: UInt8) {
    var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // Safety: poll reads and writes the one item.
    while unsafe poll(&item, 1, 50) == 0, send([byte]) {}
  }

  /// Sends bytes that come together with the end, on systems that can do that.
  func sendLast(_ text: String) {
    let bytes = Array(text.utf8)
    #if os(Linux)
      let flags = noSignal | Int32(MSG_MORE)
    #else
      let flags = noSignal
    #endif
    // Safety: the whole array is read.
    _ = unsafe bytes.withUnsafeBytes { buffer in
      unsafe sendBytes(descriptor, buffer.baseAddress, buffer.count, flags)
    }
    finishSending()
  }

  /// Tells the server that nothing more comes.
  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Reads until there are so many bytes, or no more come.
  func read(count: Int = .max) -> Reading {
    var piece = [UInt8](repeating: 0, count: min(count, 1 << 16))
    var bytes: [UInt8] = []
    while bytes.count < count {
      let size = min(piece.count, count - bytes.count)
      let got = unsafe piece.withUnsafeMutableBytes { buffer in
        // Safety: recv writes at most `size` bytes.
        unsafe recv(descriptor, buffer.baseAddress, size, 0)
      }
      if got == 0 { return Reading(bytes: bytes, end: .closed) }
      if got < 0 { return Reading(bytes: bytes, end: errno == ECONNRESET ? .reset : .open) }
      bytes += piece[..<got]
    }
    return Reading(bytes: bytes, end: .open)
  }

  /// Reads until the text has come, or no more comes.
  func read(until text: String) -> Reading {
    let pattern = Array(text.utf8)
    var bytes: [UInt8] = []
    while !bytes.suffix(pattern.count).elementsEqual(pattern) {
      let next = read(count: 1)
      bytes += next.bytes
      if next.end != .open || next.bytes.isEmpty { return Reading(bytes: bytes, end: next.end) }
    }
    return Reading(bytes: bytes, end: .open)
  }

  /// Reads an answer with `Content-Length`, or one without body to a `HEAD`.
  func readAnswer(toHead: Bool = false) -> Reading {
    var reading = read(until: "\r\n\r\n")
    guard reading.end == .open, !toHead, ![204, 304].contains(reading.status),
      let length = reading.field("Content-Length").flatMap({ Int($0) }), length > 0
    else { return reading }
    let rest = read(count: length)
    reading.bytes += rest.bytes
    reading.end = rest.end
    return reading
  }

  /// Reads and drops what comes; returns how much it was, and how it ended.
  func drain(upTo limit: Int = .max) -> (count: Int, end: End) {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    var total = 0
    while total < limit {
      let size = min(buffer.count, limit - total)
      let count = unsafe buffer.withUnsafeMutableBytes { bytes in
        // Safety: recv writes at most `size` bytes.
        unsafe recv(descriptor, bytes.baseAddress, size, 0)
      }
      if count == 0 { return (total, .closed) }
      if count < 0 { return (total, errno == ECONNRESET ? .reset : .open) }
      total += count
    }
    return (total, .open)
  }

  /// Waits until the number of bytes that wait to be read has not grown for half a second.
  func waitUntilFull() {
    var last: Int32 = -1
    var waiting: Int32 = 0
    repeat {
      last = waiting
      // No event is asked for: the call waits for its time.
      var item = pollfd(fd: descriptor, events: 0, revents: 0)
      // Safety: both calls write the locals they are given.
      _ = unsafe poll(&item, 1, 500)
      _ = unsafe ioctl(descriptor, UInt(FIONREAD), &waiting)
    } while waiting != last || waiting == 0
  }

  private func setOption<Value>(_ name: Int32, _ value: Value) {
    // Safety: the option is read from a local of its size.
    _ = unsafe withUnsafeBytes(of: value) { bytes in
      unsafe setsockopt(
        descriptor, SOL_SOCKET, name, bytes.baseAddress, socklen_t(bytes.count))
    }
  }
}

#if canImport(Darwin)
  let noSignal: Int32 = 0
#else
  let noSignal = Int32(MSG_NOSIGNAL)
#endif

/// send(2), whose name is that of a method above.
func sendBytes(
  _ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32
) -> Int {
  unsafe send(descriptor, bytes, count, flags)
}

extension String {
  var trimmingSpaces: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
