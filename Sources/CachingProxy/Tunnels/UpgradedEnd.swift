import CLibrary
import CMicrohttpd
import CMicrohttpdLibrary
import HTTPTransports
import Synchronization

/// The client's connection after a switch of protocols. libmicrohttpd owns the socket.
@safe
final class UpgradedEnd: TunnelEnd, @unchecked Sendable {
  // Unchecked: one thread at a time makes calls (TunnelEnd).
  let descriptor: Int32
  private let handle: OpaquePointer

  init(_ socket: Int32, _ handle: OpaquePointer) {
    descriptor = socket
    unsafe self.handle = handle
    _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
    var yes: Int32 = 1
    // Safety: the option is read from a local.
    _ = unsafe setsockopt(
      socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer {
    unsafe SocketEnd.read(descriptor, into: buffer)
  }

  func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer {
    unsafe SocketEnd.write(buffer, to: descriptor)
  }

  func finishWriting() -> TunnelTransfer {
    shutdown(descriptor, Int32(SHUT_WR)) == 0 ? .end : .failed
  }

  func close(isBroken: Bool) {
    if isBroken {
      var option = linger(l_onoff: 1, l_linger: 0)
      // Safety: the option is read from a local.
      _ = unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
    // Safety: the handle is valid until this call, which is made once.
    unsafe ocmhd_end_upgrade(handle)
  }
}

/// The server's connection after a switch of protocols, until the client's is switched, too.
final class SwitchedServer: Sendable {
  /// The protocol, as the server has named it.
  let name: String
  private let server: any TunnelEnd
  private let first: [UInt8]
  private let hasBegun = Atomic<Bool>(false)
  private let add: @Sendable (sending Relay) -> Void
  private let leave: @Sendable () -> Void
  private let idle: Duration

  /// - Parameters:
  ///   - add: Takes over the tunnel.
  ///   - leave: Called once when the tunnel has ended, or will never begin.
  init(
    _ server: any TunnelEnd, first: [UInt8], name: String, idle: Duration,
    add: @escaping @Sendable (sending Relay) -> Void, leave: @escaping @Sendable () -> Void
  ) {
    self.server = server
    self.first = first
    self.name = name
    self.idle = idle
    self.add = add
    self.leave = leave
  }

  deinit {
    guard !hasBegun.load(ordering: .relaxed) else { return }
    server.close(isBroken: true)
    leave()
  }

  /// Begins the tunnel; must be called at most once.
  ///
  /// - Parameters:
  ///   - early: The bytes that the client has sent before.
  ///   - head: The bytes that the client gets first; they are not counted.
  func begin(
    _ client: any TunnelEnd, _ early: [UInt8], after head: [UInt8] = [],
    ended: @escaping @Sendable (Relay.Result) -> Void
  ) {
    hasBegun.store(true, ordering: .relaxed)
    add(
      Relay(client: client, server: server, head: head, first: (early, first), idle: idle) {
        [leave] result in
        leave()
        ended(result)
      })
  }
}
