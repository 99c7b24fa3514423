#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Makes the socket that a server accepts connections from.
enum ListeningSocket {
  /// How many connections may wait to be accepted; the system may allow fewer.
  static let backlog: Int32 = 1024

  /// Opens a socket that listens, and tells the address it really has.
  ///
  /// - Throws: ``ProxyError``.
  static func open(_ address: ListenAddress) throws(ProxyError) -> (Int32, ListenAddress) {
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
        return (descriptor, ListenAddress(host: address.host, port: port(of: descriptor)))
      }
      failure = error
      unsafe next = info.pointee.ai_next
    }
    throw self.error(failure, address)
  }

  /// Closes a socket that nobody took.
  static func close(_ descriptor: Int32) {
    #if canImport(Darwin)
      Darwin.close(descriptor)
    #elseif canImport(Musl)
      Musl.close(descriptor)
    #else
      Glibc.close(descriptor)
    #endif
  }

  /// Opens, binds and listens; returns an errno where that fails.
  private static func open(_ info: addrinfo) -> (Int32, Int32) {
    let descriptor = unsafe socket(info.ai_family, info.ai_socktype, info.ai_protocol)
    guard descriptor >= 0 else { return (-1, errno) }
    // The server waits with epoll and accepts until there is nothing more to accept.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var yes: Int32 = 1
    // Safety: the option is read from a local, and the address from the entry of the list.
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    if unsafe bind(descriptor, info.ai_addr, info.ai_addrlen) != 0
      || listen(descriptor, backlog) != 0
    {
      let failure = errno
      close(descriptor)
      return (-1, failure)
    }
    return (descriptor, 0)
  }

  /// Returns the port that a socket is bound to.
  private static func port(of descriptor: Int32) -> UInt16 {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    // Safety: getsockname writes at most `length` bytes into the local, which is as long; the port
    // has the same place in both families.
    return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard unsafe getsockname(descriptor, address, &length) == 0 else { return 0 }
        return unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          unsafe UInt16(bigEndian: $0.pointee.sin_port)
        }
      }
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
    // Safety: strerror returns a C string that lives until the next call in this thread.
    let words = unsafe strerror(failure).map { unsafe String(cString: $0) } ?? ""
    return ProxyError(code, subject: address.description, detail: words)
  }

  #if canImport(Glibc)
    private static let streamType = Int32(SOCK_STREAM.rawValue)
  #else
    private static let streamType = SOCK_STREAM
  #endif
}
