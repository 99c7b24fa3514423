import Foundation

/// One connection of a ``LoopbackOrigin``. Used on the connection's thread.
package final class OriginConnection {
  package let descriptor: Int32
  private var received: [UInt8] = []
  /// Whether one of both sides has ended the connection.
  package private(set) var isOver = false

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Ends the connection after what has been sent.
  package func close() {
    isOver = true
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Has the system buffer no more than 64 KiB of what comes.
  package func receivesLittle() {
    var size: Int32 = 32 * 1024
    // Safety: the option is a number of this size.
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Waits until the other side closes.
  package func waitForClose() {
    while receive() {}
  }

  /// Blocks the connection's thread until the test ends a stream.
  package func wait(for stream: AsyncStream<Void>) {
    let hasEnded = DispatchSemaphore(value: 0)
    Task {
      for await _ in stream {}
      hasEnded.signal()
    }
    hasEnded.wait()
  }

  fileprivate func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    // Safety: recv writes at most the size of the buffer.
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

// What is sent.
extension OriginConnection {
  /// Sends text as it is.
  package func send(_ text: String) { send(Array(text.utf8)) }

  /// Sends bytes; once the other side has gone, nothing.
  package func send(_ bytes: [UInt8]) {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    var rest = bytes[...]
    while !rest.isEmpty, !isOver {
      // Safety: the buffer is valid during the call.
      let count = unsafe rest.withUnsafeBytes {
        unsafe Foundation.send(descriptor, $0.baseAddress, $0.count, flags)
      }
      if count <= 0 { isOver = true } else { rest = rest.dropFirst(count) }
    }
  }

  /// Sends a whole answer with its length.
  package func answer(_ body: String, status: String = "200 OK", fields: [String] = []) {
    answer(Array(body.utf8), status: status, fields: fields)
  }

  /// Sends a whole answer with its length.
  package func answer(_ body: [UInt8], status: String = "200 OK", fields: [String] = []) {
    send(Self.head(status, body.count, fields) + body)
  }

  func send(_ answer: OriginAnswer, to request: OriginRequest) {
    if answer.delay > 0 { usleep(answer.delay) }
    if !answer.isSilent {
      let head = Self.head(
        "\(answer.status) Status", answer.claimedLength ?? answer.body.count, answer.fields)
      send(request.method == "HEAD" ? head : head + answer.body)
    }
    if answer.hangs { waitForClose() }
    if answer.claimedLength != nil { close() }
  }

  private static func head(_ status: String, _ length: Int, _ fields: [String]) -> [UInt8] {
    let lines = ["HTTP/1.1 \(status)", "Content-Length: \(length)"] + fields
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }
}

// What is read.
extension OriginConnection {
  /// Reads the next request; nil when the other side has closed or what came is malformed.
  func readRequest(withBody: Bool) -> OriginRequest? {
    let head = read(through: "\r\n\r\n")
    guard !isOver else { return nil }
    var request = OriginRequest(head: head)
    guard withBody else { return request }
    if request.value(of: "Transfer-Encoding") == "chunked" {
      guard let body = readChunked() else { return nil }
      request.body = body
    } else {
      let count = request.value(of: "Content-Length").flatMap { Int($0) } ?? 0
      request.body = read(count)
      guard request.body.count == count else { return nil }
    }
    return request
  }

  /// Reads so many bytes of a request's body, or what came before the other side closed.
  package func read(_ count: Int) -> [UInt8] {
    while received.count < count, receive() {}
    let bytes = Array(received.prefix(count))
    received.removeFirst(bytes.count)
    return bytes
  }

  /// Reads up to and including a mark, or what came before the other side closed.
  package func read(through mark: String) -> [UInt8] {
    let end = Array(mark.utf8)
    var searched = 0
    while true {
      if let start = place(of: end, from: searched) { return read(start + end.count) }
      searched = max(0, received.count - end.count + 1)
      guard receive() else { return read(received.count) }
    }
  }

  /// Reads a chunked body and takes the chunks apart; nil if it is cut short or malformed.
  package func readChunked() -> [UInt8]? {
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
        let found = unsafe memchr(all.baseAddress! + start, Int32(bytes[0]), all.count - start)
        return unsafe found.map { unsafe UnsafeRawPointer($0) - all.baseAddress! }
      }
      guard let next else { return nil }
      if received[next...].starts(with: bytes) { return next }
      start = next + 1
    }
    return nil
  }
}
