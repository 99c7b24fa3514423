import CMicrohttpd
import CMicrohttpdLibrary

/// Runs libmicrohttpd for a ``ProxyCore``.
///
/// It has several threads, each with its own connections. No call into the core may wait.
@safe
final class ServerDaemon: @unchecked Sendable {
  // Unchecked: the pointer is written once, and the library protects the data behind it.
  private let server: OpaquePointer
  private let core: ProxyCore

  /// The memory of a connection, in bytes, for the head of a request and the head of its answer. A
  /// larger head is answered with 431 or, if it is that of the answer, 502.
  ///
  /// The library clears all of it after each request, which takes time, and a thousand idle clients
  /// take this much memory each. Up to 32 KiB the memory would be allocated on the heap and stay
  /// there.
  static let connectionMemory = 40 * 1024

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - isEncrypted: Whether clients use TLS.
  ///   - connectionMemory: ``connectionMemory``, except in tests.
  init?(
    core: ProxyCore, isEncrypted: Bool, options: ProxyOptions, connectionLimit: Int,
    connectionMemory: Int = ServerDaemon.connectionMemory
  ) {
    self.core = core
    var configuration = unsafe ocmhd_configuration()
    unsafe configuration.is_encrypted = isEncrypted ? 1 : 0
    unsafe configuration.thread_count = UInt32(clamping: max(1, options.threads))
    unsafe configuration.connection_limit = UInt32(clamping: connectionLimit)
    // libmicrohttpd 0.9.75 never releases a connection that it ends within a handshake, and a thread spins
    // on it. So there HeadWatch comes first.
    let idleSeconds = max(1, options.idleSeconds) + (isEncrypted ? 5 : 0)
    unsafe configuration.idle_seconds = UInt32(clamping: idleSeconds)
    unsafe configuration.connection_memory = connectionMemory
    // Safety: the threads hold the core until they are stopped, even if this object is released
    // before.
    let reference = unsafe Unmanaged.passRetained(core)
    let context = unsafe reference.toOpaque()
    unsafe configuration.callbacks = ocmhd_callbacks(
      context: context, connected: connected, disconnected: disconnected, began: began,
      proceed: proceed, ended: ended)
    // Safety: the configuration is read during the call.
    guard let server = unsafe ocmhd_start(&configuration) else {
      unsafe reference.release()
      return nil
    }
    unsafe self.server = server
  }

  func add(_ client: NewClient) {
    // Counted here, because the thread that gets the connection may be busy.
    core.connections.handOver(client.descriptor)
    _ = unsafe client.address.withUnsafeBytes { address in
      // Safety: the address is copied. A connection that is not taken over is closed.
      unsafe ocmhd_add(server, client.descriptor, address.baseAddress, UInt32(address.count))
    }
  }

  /// Ends all connections and threads; must be called once. No connection may be suspended.
  func stop() {
    unsafe ocmhd_stop(server)
    unsafe Unmanaged.passUnretained(core).release()
  }
}

// Safety, for all functions below: the library passes the context that it was given, and the
// pointers that `connected` and `began` returned, once each for their end. Each of these holds a
// reference that was retained there and is released at the end.

private func connected(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context, let connection = unsafe connection else { return nil }
  let core = unsafe Unmanaged<ProxyCore>.fromOpaque(context).takeUnretainedValue()
  let client = unsafe ClientInfo(connection, core.interceptor)
  core.connections.begin(client.socket)
  core.watch?.add(client)
  return unsafe Unmanaged.passRetained(client).toOpaque()
}

private func disconnected(_ context: UnsafeMutableRawPointer?, _ state: UnsafeMutableRawPointer?) {
  guard let context = unsafe context, let state = unsafe state else { return }
  // The library closes the socket after this.
  let client = unsafe Unmanaged<ClientInfo>.fromOpaque(state).takeRetainedValue()
  let core = unsafe Unmanaged<ProxyCore>.fromOpaque(context).takeUnretainedValue()
  client.leave()
  if client.target != nil { core.interceptor?.ended(client.socket, of: client.address) }
  core.connections.end()
}

private func began(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ target: UnsafePointer<CChar>?, _ count: Int
) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context, let connection = unsafe connection, let target = unsafe target
  else { return nil }
  let core = unsafe Unmanaged<ProxyCore>.fromOpaque(context).takeUnretainedValue()
  core.begin()
  let client = unsafe ClientConnection(connection).client
  if let target = client?.target { core.interceptor?.asked(target) }
  let exchange = unsafe Exchange(
    core: core, connection: ClientConnection(connection), client: client,
    target: Array(UnsafeRawBufferPointer(start: target, count: count)),
    place: UInt(bitPattern: target))
  return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

private func proceed(
  _ request: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?,
  _ data: UnsafePointer<CChar>?, _ count: UnsafeMutablePointer<Int>?
) -> MHD_Result {
  guard let request = unsafe request, let method = unsafe method, let version = unsafe version,
    let count = unsafe count
  else { return .NO }
  let exchange = unsafe Unmanaged<Exchange>.fromOpaque(request).takeUnretainedValue()
  let size = unsafe count.pointee
  let piece = unsafe size > 0 ? UnsafeRawBufferPointer(start: data, count: size) : nil
  guard let taken = unsafe exchange.proceed(method: method, version: version, data: piece) else {
    return .NO
  }
  unsafe count.pointee = size - taken
  return .YES
}

private func ended(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ request: UnsafeMutableRawPointer?, _ code: MHD_RequestTerminationCode
) {
  guard let request = unsafe request, let connection = unsafe connection else { return }
  let exchange = unsafe Unmanaged<Exchange>.fromOpaque(request).takeRetainedValue()
  unsafe exchange.end(
    isComplete: code == .REQUEST_TERMINATED_COMPLETED_OK, status: Int(ocmhd_status(connection)))
}
