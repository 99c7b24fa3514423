import CCurl
import CCurlLibrary
import CLibrary
import CacheSystem

/// The sockets of kept HTTP/1 connections. They are checked before reuse, so that a connection with
/// unexpected input is not used again. Called on the driver thread only.
///
/// If a server sends a body where none is allowed, after a 304 for instance, bytes are left that
/// the next request on the connection would read as its response. libcurl 7.88 reuses such a
/// connection if the bytes arrive after the response was complete.
final class IdleSockets {
  private var socketOf: [Endpoints: CInt] = [:]
  private var endpointsOf: [CInt: Endpoints] = [:]

  /// The addresses and ports that identify a connection; libcurl passes them to its callback before
  /// a request.
  struct Endpoints: Hashable {
    let here: String
    let herePort: Int
    let there: String
    let therePort: Int
  }

  /// Records the connection of a transfer that has just ended, if it uses HTTP/1 and is kept.
  func noteEnd(on handle: EasyHandle) {
    guard let (endpoints, socket) = handle.keptConnection else { return }
    socketOf[endpoints] = socket
    endpointsOf[socket] = endpoints
  }

  /// Returns whether a kept connection has been closed by the server or has unexpected input.
  /// Always false for a new connection and for HTTP/2.
  func hasInput(_ endpoints: Endpoints, isReused: Bool) -> Bool {
    guard let socket = socketOf[endpoints] else { return false }
    guard isReused else {
      socketOf[endpoints] = nil
      return false
    }
    return Poll.isReady(socket, for: POLLIN)
  }

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
    if socketOf[endpoints] == socket { socketOf[endpoints] = nil }
  }
}
