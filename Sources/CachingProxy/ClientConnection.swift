import CMicrohttpd
import CMicrohttpdLibrary
import HTTPSemantics

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Stands for one connection of a client, as libmicrohttpd knows it.
///
/// Valid from the beginning of a request to its end. Unless said otherwise, a method is called in
/// the thread that the server gave the connection, or while the connection is suspended.
@safe
struct ClientConnection: @unchecked Sendable {
  // Unchecked: the library tells its threads apart itself, and says which calls may come from others.
  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) {
    unsafe self.pointer = pointer
  }

  /// Leaves the connection alone until ``resume()``.
  func suspend() {
    // Safety: the pointer is valid as long as the request is.
    unsafe MHD_suspend_connection(pointer)
  }

  /// Goes on with a suspended connection; from any thread.
  func resume() {
    // Safety: a suspended connection is not freed.
    unsafe MHD_resume_connection(pointer)
  }

  /// Has the server look at the connection again in a moment, whether or not the client sends anything.
  func lookAgain() {
    suspend()
    resume()
  }

  /// Gives the number of the socket.
  var socket: Int32 { unsafe ocmhd_socket(pointer) }

  /// Gives what was made for the connection when it came.
  var client: ClientInfo? {
    // Safety: the state is what the server retained when the connection came, until it goes.
    guard let state = unsafe ocmhd_connection_state(pointer) else { return nil }
    return unsafe Unmanaged<ClientInfo>.fromOpaque(state).takeUnretainedValue()
  }

  /// Sends as many bytes as the system takes at once.
  ///
  /// - Returns: how many; nil where the client takes none any more.
  func send(_ bytes: ArraySlice<UInt8>) -> Int? {
    let count = unsafe bytes.withUnsafeBytes { buffer in
      // Safety: the buffer is read during the call.
      unsafe sendBytes(socket, buffer.baseAddress, buffer.count)
    }
    if count >= 0 { return count }
    return errno == EAGAIN || errno == EINTR ? 0 : nil
  }

  /// Has small pieces sent at once (TCP_NODELAY).
  func sendWithoutDelay() {
    var yes: Int32 = 1
    // Safety: the option is read from a local.
    _ = unsafe setsockopt(
      socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Has the server see the end of what the client sends, if it has come together with the bytes that
  /// were just read.
  func noticeEnd() {
    // Safety: the pointer is valid as long as the request is.
    unsafe ocmhd_notice_end(pointer)
  }

  /// Tells the client that nothing more is sent; what it sends is still read.
  func finishSending() { shutdown(socket, Int32(SHUT_WR)) }

  /// Lets the server see the end of what the client sends, at once.
  func stopReceiving() { shutdown(socket, Int32(SHUT_RD)) }

  /// Makes the end of the connection show as an error at the client (RST), where a plain end would
  /// look like that of a complete body.
  func breakOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    // Safety: the option is read from a local.
    _ = unsafe setsockopt(
      socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}

/// Holds what is known of a client for as long as its connection lasts.
final class ClientInfo: Sendable {
  /// The numeric address; empty where there is none.
  let address: String

  init(_ connection: OpaquePointer) {
    // Safety: the function writes at most `capacity` bytes with a NUL at the end.
    address = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      guard let start = buffer.baseAddress else { return "" }
      unsafe ocmhd_client_address(connection, start, buffer.count)
      return unsafe String(cString: start)
    }
  }
}

extension ClientConnection {
  /// How many fields are looked at without taking memory from the heap.
  private static let usualFields = 64

  /// Reads the head of the request that the connection has.
  ///
  /// - Parameters:
  ///   - target: as it was on the wire; `place` is where it was.
  /// - Throws: ``RequestRefusal``.
  func head(
    target: [UInt8], at place: UInt, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>
  ) throws(RequestRefusal) -> RequestHead {
    var isExact: Int32 = 0
    var fields: [HTTPField] = []
    let read = { (buffer: UnsafeMutableBufferPointer<ocmhd_field>) -> Int in
      // Safety: the function writes at most `capacity` items; what they point to lives as long as
      // the request, and is copied.
      let count = unsafe ocmhd_fields(
        pointer, method, place, target.count, version, buffer.baseAddress, buffer.count, &isExact)
      if count <= buffer.count {
        fields = unsafe buffer[..<count].map { unsafe HTTPField($0) }
      }
      return count
    }
    let count = unsafe withUnsafeTemporaryAllocation(
      of: ocmhd_field.self, capacity: Self.usualFields, read)
    if count > Self.usualFields {
      _ = unsafe withUnsafeTemporaryAllocation(of: ocmhd_field.self, capacity: count, read)
    }
    guard isExact != 0 else {
      throw RequestRefusal(400, "the head has folded lines, bare line feeds, NULs or extra spaces")
    }
    return try RequestHead(
      method: unsafe String(cString: method), target: target,
      version: unsafe String(cString: version), fields: fields)
  }
}

extension HTTPField {
  fileprivate init(_ field: ocmhd_field) {
    // Safety: both texts have the counts that the library gave.
    let name = unsafe UnsafeRawBufferPointer(start: field.name, count: field.name_count)
    let value = unsafe UnsafeRawBufferPointer(start: field.value, count: field.value_count)
    unsafe self.init(name: String(decoding: name, as: UTF8.self), value: Array(value))
  }
}

/// send(2), whose name is that of a method above; it waits for nobody and raises no signal.
private func sendBytes(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  #if canImport(Darwin)
    let flags = Int32(MSG_DONTWAIT)
  #else
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
  #endif
  // Safety: the caller's buffer has so many bytes.
  return unsafe send(socket, bytes, count, flags)
}
