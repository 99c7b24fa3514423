import CCurl
import CCurlLibrary

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Knows the sockets of kept HTTP/1 connections, so that one with unexpected input is not used
/// again. Called on the loop's thread only.
///
/// A server that sends a body where none may be, after a 304 for instance, leaves bytes behind
/// that the next request on the connection would take for its answer. libcurl 7.88 reuses such a
/// connection when the bytes come after the answer was complete.
final class IdleSockets {
  private var socketOf: [Endpoints: CInt] = [:]
  private var endpointsOf: [CInt: Endpoints] = [:]

  /// Names a connection in the one way that libcurl's callback before a request gives.
  struct Endpoints: Hashable {
    let here: String
    let herePort: Int
    let there: String
    let therePort: Int
  }

  /// Notes the connection on which a transfer has just ended, if it speaks HTTP/1 and is kept.
  func noteEnd(on handle: EasyHandle) {
    guard let (endpoints, socket) = handle.keptConnection else { return }
    socketOf[endpoints] = socket
    endpointsOf[socket] = endpoints
  }

  /// Tells whether a connection that is about to be used again has been closed by the server or
  /// has bytes that nobody asked for; never of a new connection or one of HTTP/2.
  func hasInput(_ endpoints: Endpoints, isReused: Bool) -> Bool {
    guard let socket = socketOf[endpoints] else { return false }
    guard isReused else {
      socketOf[endpoints] = nil
      return false
    }
    var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    // Safety: the entry is a local, and one is passed.
    return unsafe poll(&entry, 1, 0) != 0
  }

  /// Has libcurl close its sockets through this object, which must outlive the multi handle.
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
