import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Opens a socket that listens on a free port of loopback.
func listenOnLoopback() throws -> Int32 {
  #if canImport(Glibc)
    let kind = Int32(SOCK_STREAM.rawValue)
  #else
    let kind = SOCK_STREAM
  #endif
  let descriptor = socket(AF_INET, kind, 0)
  try #require(descriptor >= 0)
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  let size = socklen_t(MemoryLayout<sockaddr_in>.size)
  // Safety: an IPv4 address is a socket address, and its size is passed along.
  let result = unsafe withUnsafePointer(to: &address) { pointer in
    unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      unsafe bind(descriptor, $0, size)
    }
  }
  try #require(result == 0)
  let listening = listen(descriptor, 64)
  try #require(listening == 0)
  return descriptor
}

/// Returns the port a socket is bound to.
func portNumber(of descriptor: Int32) throws -> Int {
  var address = sockaddr_in()
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  // Safety: getsockname writes at most the size of the local.
  let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
    unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      unsafe getsockname(descriptor, $0, &size)
    }
  }
  try #require(result == 0)
  return Int(UInt16(bigEndian: address.sin_port))
}

/// Waits for a connection; negative when the listener is shut down.
func acceptConnection(_ listener: Int32) -> Int32 {
  let connection = accept(listener, nil, nil)
  if connection >= 0 { _ = fcntl(connection, F_SETFD, FD_CLOEXEC) }
  return connection
}

/// Reads one byte; nil at the end.
func readByte(_ descriptor: Int32) -> UInt8? {
  var byte: UInt8 = 0
  // Safety: read writes at most one byte into the local.
  return unsafe read(descriptor, &byte, 1) == 1 ? byte : nil
}

/// Runs blocking work on a thread of its own, for it must not sit on Swift's pool.
func startThread(_ work: @escaping @Sendable () -> Void) throws {
  #if canImport(Darwin)
    var thread: pthread_t?
  #else
    var thread = pthread_t()
  #endif
  // Safety: the thread takes over the reference; the handle is given up at once.
  let box = unsafe Unmanaged.passRetained(Work(work))
  let result = unsafe pthread_create(&thread, nil, { unsafe runWork($0) }, box.toOpaque())
  try #require(result == 0)
}

/// A closure that goes through a C pointer.
private final class Work: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Runs the closure of a new thread.
private func runWork(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // Safety: the pointer is the reference that `startThread` gave away.
  if let pointer = unsafe pointer {
    unsafe Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
  }
  return nil
}
