import CCurl
import CCurlLibrary
import CLibrary
import CacheSystem

/// The sockets of connections, which are checked before each reuse. Called on the driver thread only.
///
/// The rule: a connection is used again only if it is certain that nothing has come after the last
/// answer. If a server sends a body where none is allowed, after a 304 for instance, or more than the
/// stated length, bytes are left that the next request on the connection would read as its response.
/// libcurl 7.88 reuses such a connection if the bytes arrive after the response was complete, or are
/// in the rest of a TLS record. If it has read them with the head of an answer without a body, they
/// are gone, and cannot be found here (`occurl_close_after_excess`).
///
/// - HTTP/2: each frame names its request.
/// - HTTP/1 without TLS: the socket must have no input.
/// - HTTP/1 over TLS: OpenSSL must have none, either. Of another TLS library, and of TLS within the TLS
///   of a proxy, that is never certain. Nobody can tell whether a connection has the latter, so where
///   a proxy may encrypt, all with TLS to the server are closed after an answer of HTTP/1.
final class IdleSockets {
  private struct Connection {
    let socket: CInt
    var usesHTTP2 = false
  }

  /// Whether connections may go through a proxy that encrypts.
  private let mayEncryptProxy: Bool
  private var connections: [Endpoints: Connection] = [:]
  private var endpointsOf: [CInt: Endpoints] = [:]

  /// The addresses and ports that identify a connection; libcurl passes them to its callback before
  /// a request.
  struct Endpoints: Hashable {
    let here: String
    let herePort: Int
    let there: String
    let therePort: Int
  }

  init(mayEncryptProxy: Bool) { self.mayEncryptProxy = mayEncryptProxy }

  /// Records a new connection of a transfer, before the first request.
  func noteNew(_ endpoints: Endpoints, of handle: EasyHandle) {
    connections[endpoints] = nil
    guard let socket = handle.socket(between: endpoints) else { return }
    forget(socket)
    connections[endpoints] = Connection(socket: socket)
    endpointsOf[socket] = endpoints
  }

  /// Records that an answer has come by HTTP/2.
  func noteHTTP2(_ endpoints: Endpoints) { connections[endpoints]?.usesHTTP2 = true }

  /// Returns whether a kept connection may be used again; `false` in doubt, and if the server has
  /// closed it.
  ///
  /// - Parameter isSecure: Whether the connection has TLS to the server.
  func mayReuse(_ endpoints: Endpoints, _ handle: EasyHandle, isSecure: Bool) -> Bool {
    if isSecure, handle.speaksHTTP2 == true { return true }
    guard let connection = connections[endpoints] else { return false }
    if connection.usesHTTP2 { return true }
    guard !Poll.isReady(connection.socket, for: POLLIN) else { return false }
    guard isSecure || mayEncryptProxy else { return true }
    return mayKeep(isSecure: isSecure) && handle.hasNoTLSInput
  }

  /// Returns whether a connection of HTTP/1 may be used again at all.
  func mayKeep(isSecure: Bool) -> Bool { !isSecure || !mayEncryptProxy }

  /// Makes libcurl close its sockets through this object, which must outlive the multi handle.
  func watch(_ handle: EasyHandle) -> Bool {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    // Safety: the loop keeps this object until the multi handle, which owns the connections, is
    // freed.
    return unsafe occurl_set_close_callback(
      handle.raw,
      { context, socket in
        if let context = unsafe context {
          unsafe Unmanaged<IdleSockets>.fromOpaque(context).takeUnretainedValue().forget(socket)
        }
        return close(socket)
      }, context) == CURLE_OK
  }

  private func forget(_ socket: CInt) {
    guard let endpoints = endpointsOf.removeValue(forKey: socket) else { return }
    if connections[endpoints]?.socket == socket { connections[endpoints] = nil }
  }
}
