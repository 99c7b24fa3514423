import Dispatch
import Glibc
import Synchronization

/// Gives a script one connection to write to. Used on the connection's thread.
final class OriginConnection {
  fileprivate let descriptor: CInt
  private var received: [UInt8] = []
  private(set) var isOver = false

  init(_ descriptor: CInt) {
    self.descriptor = descriptor
  }

  /// Sends text as it is.
  func send(_ text: String) {
    send(Array(text.utf8))
  }

  /// Sends bytes; once the other side has gone, nothing.
  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty, !isOver {
      // Safety: the buffer is valid during the call.
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(
          descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      if count <= 0 { isOver = true } else { rest = rest.dropFirst(count) }
    }
  }

  /// Sends a whole answer with its length.
  func answer(_ body: String, status: String = "200 OK", fields: [String] = []) {
    answer(Array(body.utf8), status: status, fields: fields)
  }

  /// Sends a whole answer with its length.
  func answer(_ body: [UInt8], status: String = "200 OK", fields: [String] = []) {
    let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + fields
    send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
  }

  /// Ends the connection after what has been sent.
  func close() {
    isOver = true
    shutdown(descriptor, CInt(SHUT_WR))
  }

  /// Has the system buffer no more than 64 KiB of what comes.
  func receivesLittle() {
    var size: CInt = 32 * 1024
    // Safety: the option is a number of this size.
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
  }

  /// Waits until the other side closes.
  func waitForClose() {
    while receive() {}
  }

  /// Blocks the connection's thread until the test ends a stream.
  func wait(for stream: AsyncStream<Void>) {
    let hasEnded = DispatchSemaphore(value: 0)
    Task {
      for await _ in stream {}
      hasEnded.signal()
    }
    hasEnded.wait()
  }

  /// Reads the head of the next request; nil when the other side has closed.
  func readRequest() -> OriginRequest? {
    let end = Array("\r\n\r\n".utf8)
    while true {
      if let start = place(of: end, from: 0) {
        let head = Array(received[..<(start + end.count)])
        received.removeFirst(head.count)
        return OriginRequest(bytes: head)
      }
      guard receive() else { return nil }
    }
  }

  /// Reads so many bytes of a request's body, or what came before the other side closed.
  func read(_ count: Int) -> [UInt8] {
    while received.count < count, receive() {}
    let bytes = Array(received.prefix(count))
    received.removeFirst(bytes.count)
    return bytes
  }

  /// Reads up to and including a mark, or what came before the other side closed.
  func read(through mark: String) -> [UInt8] {
    let end = Array(mark.utf8)
    var searched = 0
    while true {
      if let start = place(of: end, from: searched) { return read(start + end.count) }
      searched = max(0, received.count - end.count + 1)
      guard receive() else { return read(received.count) }
    }
  }

  /// Reads a chunked body and takes the chunks apart; nil if it is cut short or malformed.
  func readChunked() -> [UInt8]? {
    var body: [UInt8] = []
    while true {
      let line = String(decoding: read(through: "\r\n"), as: UTF8.self)
      guard line.hasSuffix("\r\n"), let count = Int(line.dropLast(1), radix: 16) else { return nil }
      let chunk = read(count)
      guard chunk.count == count, read(2) == Array("\r\n".utf8) else { return nil }
      if count == 0 { return body }
      body += chunk
    }
  }

  /// Finds bytes in what was received, their first one by the C library: a sanitizer makes a search in
  /// Swift take seconds.
  private func place(of bytes: [UInt8], from start: Int) -> Int? {
    var start = start
    while start < received.count {
      // Safety: the buffer is valid during the call, and what is found lies within it.
      let next = unsafe received.withUnsafeBytes { all -> Int? in
        let found = unsafe memchr(all.baseAddress! + start, CInt(bytes[0]), all.count - start)
        return unsafe found.map { unsafe UnsafeRawPointer($0) - all.baseAddress! }
      }
      guard let next else { return nil }
      if received[next...].starts(with: bytes) { return next }
      start = next + 1
    }
    return nil
  }

  private func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    // Safety: the buffer is valid during the call.
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
    }
    guard count > 0 else {
      isOver = true
      return false
    }
    received += buffer[..<count]
    return true
  }
}

extension OriginConnection {
  /// Says that the tunnel stands, and passes bytes between both sides until one of them ends.
  func tunnel(to port: UInt16) {
    let other = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(other) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    // Safety: the address is a local of the size that is passed.
    let isOpen = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe connect(other, generic, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isOpen else { return answer("no", status: "502 Bad Gateway") }
    send("HTTP/1.1 200 OK\r\n\r\n")
    while pass(between: other) {}
    close()
  }

  /// Passes what one of both sides has sent; false at the end.
  private func pass(between other: CInt) -> Bool {
    var ready = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: other, events: Int16(POLLIN), revents: 0),
    ]
    // Safety: the array has the two entries that are passed.
    guard unsafe poll(&ready, 2, -1) > 0 else { return false }
    let (from, to) = ready[0].revents != 0 ? (descriptor, other) : (other, descriptor)
    var buffer = [UInt8](repeating: 0, count: 65_536)
    // Safety: the buffer is valid during both calls, and what was received is sent.
    return unsafe buffer.withUnsafeMutableBytes { bytes in
      let count = unsafe recv(from, bytes.baseAddress, bytes.count, 0)
      guard count > 0 else { return false }
      return unsafe Glibc.send(to, bytes.baseAddress, count, CInt(MSG_NOSIGNAL)) == count
    }
  }
}
