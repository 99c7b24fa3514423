import CLibrary
import CMicrohttpd
import CMicrohttpdLibrary
import CacheSystem
import HTTPSemantics
import HTTPTransports
import Synchronization

/// The connection of a client, as a pointer of libmicrohttpd.
///
/// Valid from the beginning of a request to its end. Unless stated otherwise, a method is called on
/// the thread that the server has assigned to the connection, or while the connection is suspended.
@safe
struct ClientConnection: @unchecked Sendable {
  // Unchecked: the library has its own locks, and documents which calls other threads may make.
  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) {
    unsafe self.pointer = pointer
  }

  /// Suspends the connection until ``resume()``.
  func suspend() {
    // Safety: the pointer is valid as long as the request is.
    unsafe MHD_suspend_connection(pointer)
  }

  /// Resumes a suspended connection; from any thread.
  func resume() {
    // Safety: a suspended connection is not freed.
    unsafe MHD_resume_connection(pointer)
  }

  /// Makes the server check the connection again in a moment, whether or not the client sends
  /// anything.
  func lookAgain() {
    suspend()
    resume()
  }

  var socket: Int32 { unsafe ocmhd_socket(pointer) }

  var client: ClientInfo? {
    // Safety: the state is retained from the beginning of the connection to its end.
    guard let state = unsafe ocmhd_connection_state(pointer) else { return nil }
    return unsafe Unmanaged<ClientInfo>.fromOpaque(state).takeUnretainedValue()
  }

  /// Sends as many bytes as the system accepts at once.
  ///
  /// - Returns: The number of bytes, or `nil` if the client accepts no more.
  func send(_ bytes: ArraySlice<UInt8>) -> Int? {
    switch unsafe bytes.withUnsafeBytes({ unsafe SocketEnd.write($0, to: socket) }) {
    case .bytes(let count): count
    case .wouldBlock: 0
    case .end, .failed: nil
    }
  }

  var isReadable: Bool { Poll.isReady(socket, for: POLLIN) }

  /// Returns the client's end of TLS, valid as long as the request; `nil` without TLS.
  ///
  /// - Parameter closed: Ends the connection, if the end is used for a tunnel.
  func encryptedEnd(
    closed: @escaping @Sendable (_ isBroken: Bool) -> Void = { _ in }
  ) -> EncryptedEnd? {
    unsafe ocmhd_session(pointer).map { unsafe EncryptedEnd(socket, $0, closed: closed) }
  }

  /// Makes the system send small pieces at once (TCP_NODELAY).
  func sendWithoutDelay() { SocketEnd.sendWithoutDelay(socket) }

  /// What the system knows about the end of a client.
  enum ClientEnd {
    case none
    /// It has finished sending, or has left.
    case finished
    /// It has left.
    case gone
  }

  var end: ClientEnd {
    switch unsafe ocmhd_client_end(pointer) {
    case 0: .none
    case 1: .finished
    default: .gone
    }
  }

  /// Tells the client that nothing more is sent. Data from the client is still read.
  func finishSending() { shutdown(socket, Int32(SHUT_WR)) }

  /// Makes the server see the end of the client's data at once.
  func stopReceiving() { shutdown(socket, Int32(SHUT_RD)) }

  /// Makes the end of the connection an error for the client (RST). A normal end would look like
  /// that of a complete body.
  func breakOnClose() { SocketEnd.breakOnClose(socket) }
}

/// Information about a client, kept as long as its connection.
final class ClientInfo: Sendable {
  /// The numeric address; empty if there is none.
  let address: String

  let socket: Int32

  /// The server that the client believes to speak TLS with; `nil` if the connection is not
  /// intercepted.
  let target: InterceptedTarget?

  /// The socket, as long as the connection is open.
  private let open: Mutex<Int32?>
  private let isAskingNow = Atomic<Bool>(false)
  private let ended = Atomic<Int>(0)

  /// Whether the head of a request has come, and the request has not ended.
  var isAsking: Bool { isAskingNow.load(ordering: .relaxed) }

  /// The number of requests that have ended.
  var answered: Int { ended.load(ordering: .relaxed) }

  var isGone: Bool { open.withLock { $0 == nil } }

  func beginRequest() { isAskingNow.store(true, ordering: .relaxed) }

  func endRequest() {
    ended.add(1, ordering: .relaxed)
    isAskingNow.store(false, ordering: .relaxed)
  }

  /// Makes the server notice the end of the client's data, if that arrived together with the bytes
  /// that were just read; from any thread, during a request.
  func noticeEnd() { ocmhd_notice_end(socket) }

  func leave() { open.withLock { $0 = nil } }

  func endWithoutRequest() {
    open.withLock { socket in
      guard let socket, !isAsking else { return }
      shutdown(socket, Int32(SHUT_RD))
      shutdown(socket, Int32(SHUT_WR))
    }
  }

  init(_ connection: OpaquePointer, _ interceptor: Interceptor?) {
    socket = unsafe ocmhd_socket(connection)
    target = interceptor?.target(of: socket)
    open = Mutex(socket)
    // Safety: the library keeps a copy of the address that it was given.
    let place = unsafe ocmhd_client_address(connection)
    address = unsafe place.flatMap { unsafe IPAddress.of($0) }?.text ?? ""
  }
}

extension ClientConnection {
  /// The number of fields that are read without heap memory.
  private static let usualFields = 64

  /// Parses the head of the connection's request.
  ///
  /// - Parameters:
  ///   - target: The target as it was received; `place` is its address in memory.
  func head(
    target: [UInt8], at place: UInt, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>
  ) throws(RequestRefusal) -> RequestHead {
    var isExact: Int32 = 0
    var fields: [HTTPField] = []
    let read = { (buffer: UnsafeMutableBufferPointer<ocmhd_field>) -> Int in
      // Safety: the function writes at most `capacity` items. The memory they point to is valid as
      // long as the request, and is copied.
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
    // Safety: both texts have the lengths that the library states.
    let name = unsafe UnsafeRawBufferPointer(start: field.name, count: field.name_count)
    let value = unsafe UnsafeRawBufferPointer(start: field.value, count: field.value_count)
    unsafe self.init(name: String(decoding: name, as: UTF8.self), value: Array(value))
  }
}
