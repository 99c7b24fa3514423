import CacheSystem
import Glibc
import HTTPSemantics
import Synchronization
import TestSupport

@testable import CurlHTTP

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

  private let listener: LoopbackListener
  private let script: Script
  private let state = Mutex(State())
  private let ends = AsyncStream.makeStream(of: Void.self)

  init(_ script: @escaping Script) throws {
    self.script = script
    listener = try LoopbackListener()
    // The accepting thread must not keep the origin alive: its end is what ends the thread.
    try startThread { [weak self, listener] in
      ThreadSignals.blockAll()
      while let descriptor = listener.accept() {
        guard let self, self.serve(descriptor) else {
          close(descriptor)
          return
        }
      }
    }
  }

  deinit {
    stop()
  }

  var port: UInt16 { listener.port }
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
    listener.stop()
  }

  private func serve(_ descriptor: CInt) -> Bool {
    let isOpen = state.withLock { state in
      guard !state.isStopped else { return false }
      state.descriptors.insert(descriptor)
      state.connections += 1
      return true
    }
    guard isOpen else { return false }
    let thread: Void? = try? startThread { [self] in
      ThreadSignals.blockAll()
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
    return thread != nil
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
