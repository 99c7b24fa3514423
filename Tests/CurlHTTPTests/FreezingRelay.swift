import Foundation
import Glibc
import Synchronization
import TestSupport

/// Passes bytes between its clients and a port of loopback.
///
/// A frozen connection stays open and passes nothing, like one that a router on the way has forgotten.
final class FreezingRelay: Sendable {
  private struct State {
    var connections = 0
    var frozen = 0
  }

  private let listener: LoopbackListener
  private let target: UInt16
  private let state = Mutex(State())

  init(to target: UInt16) throws {
    self.target = target
    listener = try LoopbackListener()
    Thread.detachNewThread { [weak self, listener] in
      while let client = listener.accept() {
        guard let self else {
          close(client)
          return
        }
        let number = self.state.withLock { state in
          state.connections += 1
          return state.connections
        }
        Thread.detachNewThread { self.relay(client, number) }
      }
    }
  }

  deinit { listener.stop() }

  var port: UInt16 { listener.port }
  /// The number of connections that came.
  var connections: Int { state.withLock { $0.connections } }

  /// Freezes the connections that came so far.
  func freeze() { state.withLock { $0.frozen = $0.connections } }

  private func relay(_ client: CInt, _ number: Int) {
    let server = socket(AF_INET, streamType, 0)
    defer {
      close(server)
      close(client)
    }
    guard connectToLoopback(server, port: target) else { return }
    while pass(client, server, number) {}
  }

  /// Passes what one of both sides has sent; false at the end.
  private func pass(_ client: CInt, _ server: CInt, _ number: Int) -> Bool {
    var ready = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    // Safety: the array has the two entries that are passed.
    guard unsafe poll(&ready, 2, -1) > 0 else { return false }
    let (from, to) = ready[0].revents != 0 ? (client, server) : (server, client)
    var buffer = [UInt8](repeating: 0, count: 65_536)
    // Safety: the buffer is valid during both calls, and what was received is sent.
    return unsafe buffer.withUnsafeMutableBytes { bytes in
      let count = unsafe recv(from, bytes.baseAddress, bytes.count, 0)
      guard count > 0 else { return false }
      if number <= state.withLock({ $0.frozen }) { return true }
      return unsafe send(to, bytes.baseAddress, count, CInt(MSG_NOSIGNAL)) == count
    }
  }
}
