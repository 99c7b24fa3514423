package import Foundation
import Synchronization
@_exported public import TestSupport

/// A server on a free port of loopback that answers as a test says, over connections that stay open.
package final class LoopbackOrigin: Sendable {
  /// Returns the answer to a request, whose content has been read. Runs on the connection's thread.
  package typealias Script = @Sendable (OriginRequest) -> OriginAnswer
  /// Reads the content of a request and writes the answer: every byte and every cut is the script's.
  /// Runs on the connection's thread, once for each request.
  package typealias ByteScript = @Sendable (OriginRequest, OriginConnection) -> Void

  private struct State {
    var descriptors: Set<Int32> = []
    var connections = 0
    var requests: [OriginRequest] = []
    var pages: [String: OriginAnswer] = [:]
    var isStopped = false
  }

  private let listener: LoopbackListener
  private let script: ByteScript
  private let readsBodies: Bool
  private let keepsRequests: Bool
  private let state = Mutex(State())
  private let ends = AsyncStream.makeStream(of: Void.self)

  /// Starts a server that answers to requests.
  ///
  /// - Parameter keepsRequests: Whether ``requests`` has the requests that came.
  package convenience init(keepsRequests: Bool = true, _ script: @escaping Script) throws {
    try self.init(readsBodies: true, keepsRequests: keepsRequests) { request, connection in
      connection.send(script(request), to: request)
    }
  }

  /// Starts a server that writes bytes.
  package convenience init(_ script: @escaping ByteScript) throws {
    try self.init(readsBodies: false, keepsRequests: true, script)
  }

  /// Starts a server that has the pages of ``set(_:_:)``.
  package convenience init() throws {
    try self.init { _ in OriginAnswer("no", status: 404) }
  }

  private init(
    readsBodies: Bool, keepsRequests: Bool, _ script: @escaping ByteScript
  ) throws {
    self.script = script
    self.readsBodies = readsBodies
    self.keepsRequests = keepsRequests
    listener = try LoopbackListener()
    // The accepting thread must not keep the server alive: its end is what ends the thread.
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
  /// The URL of the root, without the slash at its end.
  package var base: String { "http://127.0.0.1:\(port)" }
  /// The requests that came.
  package var requests: [OriginRequest] { state.withLock { $0.requests } }
  /// The number of connections that came.
  package var connections: Int { state.withLock { $0.connections } }

  /// Returns a URL of the server.
  package func url(_ target: String = "/", host: String = "127.0.0.1") -> URL {
    guard let url = URL(string: "http://\(host):\(port)\(target)") else {
      preconditionFailure("\(target) is no target")
    }
    return url
  }

  /// Answers requests for a target with a page from now on, instead of asking the script.
  package func set(_ target: String, _ page: OriginAnswer) {
    state.withLock { $0.pages[target] = page }
  }

  /// Waits until the next connection has ended; a test that waits needs a time limit.
  package func connectionEnd() async {
    for await _ in ends.stream { return }
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
      guard !state.isStopped else { return false }
      state.descriptors.insert(descriptor)
      state.connections += 1
      return true
    }
    guard isOpen else { return false }
    Thread.detachNewThread { [self] in
      let connection = OriginConnection(descriptor)
      while let request = connection.readRequest(withBody: readsBodies) {
        let page = state.withLock { state in
          if keepsRequests { state.requests.append(request) }
          return state.pages[request.target]
        }
        if let page { connection.send(page, to: request) } else { script(request, connection) }
        if connection.isOver { break }
      }
      state.withLock { _ = $0.descriptors.remove(descriptor) }
      close(descriptor)
      ends.continuation.yield()
    }
    return true
  }
}
