package import Foundation
import Synchronization
import TestSupport

/// Serves scripted answers on a free port of loopback, over connections that stay open.
package final class LoopbackOrigin: Sendable {
  /// Gets a request and gives the answer. Runs on the thread of the connection.
  package typealias Script = @Sendable (OriginRequest) -> OriginAnswer

  private struct State {
    var descriptors: Set<Int32> = []
    var requests: [OriginRequest] = []
    var isStopped = false
  }

  private let listener: LoopbackListener
  private let script: Script
  private let keepsRequests: Bool
  private let state = Mutex(State())

  /// Starts the server.
  ///
  /// - Parameter keepsRequests: keeps the requests that come, for tests that look at them.
  package init(keepsRequests: Bool = true, _ script: @escaping Script) throws {
    self.script = script
    self.keepsRequests = keepsRequests
    listener = try LoopbackListener()
    Thread.detachNewThread { [weak self, listener] in
      while let descriptor = listener.accept() {
        guard let self, self.serve(descriptor) else {
          close(descriptor)
          return
        }
      }
    }
  }

  deinit { stop() }

  package var port: UInt16 { listener.port }

  /// Gives the requests that came.
  package var requests: [OriginRequest] { state.withLock { $0.requests } }

  /// Gives a URL of the server.
  package func url(_ target: String = "/", host: String = "127.0.0.1") -> URL {
    guard let url = URL(string: "http://\(host):\(port)\(target)") else {
      preconditionFailure("\(target) is no target")
    }
    return url
  }

  /// Refuses connections from now on, and cuts those that there are.
  package func stop() {
    let isFirst = state.withLock { state in
      guard !state.isStopped else { return false }
      state.isStopped = true
      for descriptor in state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
      return true
    }
    if isFirst { listener.stop() }
  }

  private func serve(_ descriptor: Int32) -> Bool {
    let isOpen = state.withLock { state in
      if !state.isStopped { state.descriptors.insert(descriptor) }
      return !state.isStopped
    }
    guard isOpen else { return false }
    Thread.detachNewThread { [self] in
      let connection = OriginSocket(descriptor)
      while let request = connection.readRequest() {
        if keepsRequests { state.withLock { $0.requests.append(request) } }
        let answer = script(request)
        if !connection.send(answer.bytes(isHead: request.method == "HEAD")) || answer.closes {
          break
        }
      }
      state.withLock { _ = $0.descriptors.remove(descriptor) }
      close(descriptor)
    }
    return true
  }
}

/// Holds a request as it came over the wire.
package struct OriginRequest: Sendable {
  /// Gives the lines of the head.
  package let lines: [String]
  /// Gives the content.
  package let body: [UInt8]

  package var method: String { String(lines.first?.prefix { $0 != " " } ?? "") }

  package var target: String {
    lines.first?.split(separator: " ").dropFirst().first.map(String.init) ?? ""
  }

  package func value(of name: String) -> String? {
    lines.first { $0.lowercased().hasPrefix("\(name.lowercased()):") }
      .map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
  }
}

/// Holds an answer.
package struct OriginAnswer: Sendable {
  package var status: Int
  package var fields: [String]
  package var body: [UInt8]
  /// Sends only so many bytes of the body and closes.
  package var cutAfter: Int?
  /// Sends nothing for this long, in microseconds.
  package var delay: UInt32 = 0
  package var closes: Bool { cutAfter != nil }

  package init(
    _ body: [UInt8], status: Int = 200, fields: [String] = [], cutAfter: Int? = nil
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    self.cutAfter = cutAfter
  }

  package init(_ body: String, status: Int = 200, fields: [String] = [], cutAfter: Int? = nil) {
    self.init(Array(body.utf8), status: status, fields: fields, cutAfter: cutAfter)
  }

  /// A redirect.
  package static func redirect(_ location: String, status: Int = 302) -> OriginAnswer {
    OriginAnswer("moved", status: status, fields: ["Location: \(location)"])
  }

  func bytes(isHead: Bool) -> [UInt8] {
    if delay > 0 { usleep(delay) }
    let lines = ["HTTP/1.1 \(status) Status", "Content-Length: \(body.count)"] + fields
    let head = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    return isHead ? head : head + body.prefix(cutAfter ?? body.count)
  }
}

/// Reads and writes one connection, on its thread.
private final class OriginSocket {
  private let descriptor: Int32
  private var received: [UInt8] = []

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  func send(_ bytes: [UInt8]) -> Bool {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        // Safety: the rest of the array is read.
        guard let start = buffer.baseAddress else { return 0 }
        return unsafe Foundation.send(descriptor, start + done, bytes.count - done, flags)
      }
      if count <= 0 { return false }
      done += count
    }
    return true
  }

  func readRequest() -> OriginRequest? {
    let end = Array("\r\n\r\n".utf8)
    var searched = 0
    while true {
      while searched + 4 <= received.count {
        if received[searched..<searched + 4].elementsEqual(end) { return request(searched) }
        searched += 1
      }
      guard receive() else { return nil }
    }
  }

  private func request(_ headEnd: Int) -> OriginRequest? {
    let head = String(decoding: received[..<headEnd], as: UTF8.self)
    received.removeFirst(headEnd + 4)
    let lines = head.components(separatedBy: "\r\n")
    let bare = OriginRequest(lines: lines, body: [])
    if bare.value(of: "Transfer-Encoding") == "chunked" {
      var body: [UInt8] = []
      while let size = readLine().flatMap({ Int($0, radix: 16) }), let chunk = read(size) {
        guard readLine() == "" else { return nil }
        if size == 0 { return OriginRequest(lines: lines, body: body) }
        body += chunk
      }
      return nil
    }
    guard let body = read(bare.value(of: "Content-Length").flatMap { Int($0) } ?? 0) else {
      return nil
    }
    return OriginRequest(lines: lines, body: body)
  }

  private func readLine() -> String? {
    while true {
      if let end = received.firstIndex(of: 10) {
        let line = String(decoding: received[..<end], as: UTF8.self)
        received.removeFirst(end + 1)
        return line.hasSuffix("\r") ? String(line.dropLast()) : line
      }
      guard receive() else { return nil }
    }
  }

  private func read(_ count: Int) -> [UInt8]? {
    while received.count < count { guard receive() else { return nil } }
    let bytes = Array(received[..<count])
    received.removeFirst(count)
    return bytes
  }

  private func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    // Safety: recv writes at most the size of the buffer.
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
    }
    guard count > 0 else { return false }
    received += buffer[..<count]
    return true
  }
}
