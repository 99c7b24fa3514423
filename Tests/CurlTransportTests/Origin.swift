import Glibc
import HTTPSemantics
import Synchronization

@testable import CurlTransport

/// Serves scripted answers on a free loopback port: every byte and every cut is the script's.
final class Origin: Sendable {
  /// Runs on the connection's thread, once per request.
  typealias Script = @Sendable (OriginRequest, OriginConnection) -> Void

  private struct State {
    var descriptors: Set<CInt> = []
    var connections = 0
    var requests: [OriginRequest] = []
    var isStopped = false
  }

  let port: UInt16
  private let listener: CInt
  private let script: Script
  private let state = Mutex(State())
  private let ends = AsyncStream.makeStream(of: Void.self)

  init(_ script: @escaping Script) throws {
    self.script = script
    (listener, port) = try LoopbackSocket.listening()
    // The accepting thread must not keep the origin alive: its end is what ends the thread. The
    // thread alone closes the listener, or it could accept on a number that is another's by then.
    let listener = listener
    guard
      LoopThread.start({ [weak self] in
        defer { close(listener) }
        while true {
          let descriptor = accept(listener, nil, nil)
          guard descriptor >= 0 else { return }
          guard let self, self.serve(descriptor) else {
            close(descriptor)
            return
          }
        }
      })
    else { throw OriginError(what: "no thread") }
  }

  deinit {
    stop()
  }

  var connections: Int { state.withLock { $0.connections } }
  var requests: [OriginRequest] { state.withLock { $0.requests } }

  /// Waits until the next connection has ended; a test that waits needs a time limit.
  func connectionEnd() async {
    for await _ in ends.stream { return }
  }

  func url(_ target: String = "/") throws -> NormalizedURL {
    try NormalizedURL("http://127.0.0.1:\(port)\(target)")
  }

  /// Closes the listener and cuts every connection.
  func stop() {
    let isFirst = state.withLock { state in
      guard !state.isStopped else { return false }
      state.isStopped = true
      for descriptor in state.descriptors { shutdown(descriptor, CInt(SHUT_RDWR)) }
      return true
    }
    guard isFirst else { return }
    shutdown(listener, CInt(SHUT_RDWR))
  }

  private func serve(_ descriptor: CInt) -> Bool {
    let isOpen = state.withLock { state in
      guard !state.isStopped else { return false }
      state.descriptors.insert(descriptor)
      state.connections += 1
      return true
    }
    guard isOpen else { return false }
    return LoopThread.start { [self] in
      let connection = OriginConnection(descriptor)
      while let request = connection.readRequest() {
        state.withLock { $0.requests.append(request) }
        script(request, connection)
        if connection.isOver { break }
      }
      state.withLock { _ = $0.descriptors.remove(descriptor) }
      close(descriptor)
      ends.continuation.yield()
    }
  }
}

struct OriginError: Error {
  let what: String
}

/// Holds the head of a request as it came over the wire.
struct OriginRequest: Sendable {
  /// Gives the head as it came, the empty line included.
  let bytes: [UInt8]

  var text: String { String(decoding: bytes, as: UTF8.self) }

  var lines: [String] { text.split(separator: "\r\n").map(String.init) }

  var method: String { String(lines.first?.prefix { $0 != " " } ?? "") }

  var target: String {
    lines.first?.split(separator: " ").dropFirst().first.map(String.init) ?? ""
  }

  func value(of name: String) -> String? {
    lines.first { $0.lowercased().hasPrefix("\(name.lowercased()):") }
      .map { String($0.dropFirst(name.count + 1)).trimmingPrefix(" ") }.map(String.init)
  }
}

/// Makes sockets on the loopback address.
enum LoopbackSocket {
  /// Returns a listening socket and its port.
  static func listening() throws -> (CInt, UInt16) {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw OriginError(what: "socket: \(errno)") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Safety: the address is a local of the size that is passed.
    let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(descriptor, generic, length) == 0 && listen(descriptor, 256) == 0
          && getsockname(descriptor, generic, &length) == 0
      }
    }
    guard code else { throw OriginError(what: "bind: \(errno)") }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// Returns a port on which nothing listens.
  static func unusedPort() throws -> UInt16 {
    let (descriptor, port) = try listening()
    close(descriptor)
    return port
  }
}
