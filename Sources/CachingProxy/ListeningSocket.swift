import CLibrary
import CacheSystem
import HTTPTransports

/// Creates the socket from which a server accepts connections.
enum ListeningSocket {
  /// The number of connections that may wait to be accepted; the system may allow fewer.
  static let backlog: Int32 = 1024

  struct Bound {
    let descriptor: Int32
    /// The host as it was given, and the actual port of the socket.
    let address: ListenAddress
    /// Whether only this machine can connect, whatever name the host was given.
    let isLoopback: Bool
  }

  static func open(_ address: ListenAddress) throws(ProxyError) -> Bound {
    var hints = unsafe addrinfo()
    unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    unsafe hints.ai_socktype = streamType
    // Safety: the list is written by getaddrinfo, read below, and freed at the end.
    var list: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(address.host, String(address.port), &hints, &list)
    guard code == 0, let first = unsafe list else {
      throw ProxyError(
        .addressNotAvailable, subject: address.description,
        detail: unsafe String(cString: gai_strerror(code)))
    }
    defer { unsafe freeaddrinfo(first) }
    var failure: Int32 = 0
    var next: UnsafeMutablePointer<addrinfo>? = unsafe first
    while let info = unsafe next {
      let (descriptor, error) = unsafe open(info.pointee)
      if error == 0 {
        let (port, isLoopback) = bound(descriptor)
        return Bound(
          descriptor: descriptor, address: ListenAddress(host: address.host, port: port),
          isLoopback: isLoopback)
      }
      failure = error
      unsafe next = info.pointee.ai_next
    }
    throw self.error(failure, address)
  }

  /// Opens, binds and listens. Returns an errno if that fails.
  private static func open(_ info: addrinfo) -> (Int32, Int32) {
    let descriptor = unsafe socket(info.ai_family, info.ai_socktype, info.ai_protocol)
    guard descriptor >= 0 else { return (-1, errno) }
    // The acceptor accepts until no connection is waiting.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    SocketEnd.setOption(SO_REUSEADDR, Int32(1), of: descriptor)
    // Safety: the address is read from the entry of the list.
    if unsafe bind(descriptor, info.ai_addr, info.ai_addrlen) != 0
      || listen(descriptor, backlog) != 0
    {
      let failure = errno
      close(descriptor)
      return (-1, failure)
    }
    return (descriptor, 0)
  }

  /// Returns the port that a socket is bound to, and whether only this machine can connect to it.
  private static func bound(_ descriptor: Int32) -> (port: UInt16, isLoopback: Bool) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    // Safety: getsockname writes at most `length` bytes into the local, which has that size.
    return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      let place = UnsafeMutableRawPointer(pointer)
      guard
        unsafe getsockname(descriptor, place.assumingMemoryBound(to: sockaddr.self), &length) == 0,
        let (address, port) = unsafe IPAddress.of(place, length: Int(length))
      else { return (0, false) }
      return (port, address.isLoopback)
    }
  }

  private static func error(_ failure: Int32, _ address: ListenAddress) -> ProxyError {
    let code: ProxyError.Code =
      switch failure {
      case EADDRINUSE: .addressInUse
      case EADDRNOTAVAIL, EAFNOSUPPORT: .addressNotAvailable
      case EACCES, EPERM: .permissionDenied
      default: .system
      }
    return ProxyError(code, subject: address.description, detail: SystemError(failure).description)
  }

  #if canImport(Glibc)
    private static let streamType = Int32(SOCK_STREAM.rawValue)
  #else
    private static let streamType = SOCK_STREAM
  #endif
}
