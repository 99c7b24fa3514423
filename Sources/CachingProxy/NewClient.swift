import CLibrary
import CMicrohttpd
import HTTPTransports

/// A connection that was accepted.
struct NewClient: Sendable {
  /// The result of accept(2).
  enum Accepted {
    case client(NewClient)
    case none
    /// The client left before it was accepted.
    case lost
    /// The system has no descriptors or memory left, or cannot accept from the socket.
    case full
  }

  let descriptor: Int32
  /// The bytes of the client's socket address.
  let address: [UInt8]

  static func accept(_ listener: Int32) -> Accepted {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    // Safety: accept writes at most `length` bytes into the local, which has that size.
    let descriptor = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe ocmhd_accept(listener, pointer, &length)
    }
    switch -descriptor {
    case ...0: break
    case EAGAIN, EWOULDBLOCK: return .none
    case EMFILE, ENFILE, ENOBUFS, ENOMEM, EINVAL, EBADF: return .full
    default: return .lost
    }
    let size = min(Int(length), MemoryLayout<sockaddr_storage>.size)
    // Safety: the bytes that were written are copied.
    let address = unsafe withUnsafeBytes(of: storage) { unsafe Array($0[..<size]) }
    return .client(NewClient(descriptor: descriptor, address: address))
  }

  /// Makes the system send small pieces at once (TCP_NODELAY). Otherwise a handshake waits for the
  /// acknowledgement of what was sent before, which takes 40 ms.
  func sendWithoutDelay() { SocketEnd.sendWithoutDelay(descriptor) }

  func close() { CLibrary.close(descriptor) }

  /// The numeric address; empty if there is none.
  var addressText: String {
    unsafe address.withUnsafeBytes { bytes in
      // Safety: the length is that of the bytes.
      guard let start = bytes.baseAddress else { return "" }
      return unsafe IPAddress.of(start, length: bytes.count)?.address.text ?? ""
    }
  }
}

/// A client that has not sent enough bytes to tell what it wants.
struct WaitingClient {
  enum Wish: Equatable {
    /// More bytes have to come.
    case wait
    case gone
    /// A request that is not `CONNECT`. None of its bytes has been read.
    case request
    /// A `CONNECT`. Its head was read, and nothing after it.
    case connect
  }

  let client: NewClient
  let deadline: ContinuousClock.Instant
  /// The bytes of a `CONNECT` that have been read.
  private(set) var head: [UInt8] = []
  private var waitsForStart = false

  init(_ client: NewClient, deadline: ContinuousClock.Instant) {
    self.client = client
    self.deadline = deadline
  }

  mutating func look() -> Wish {
    if head.isEmpty {
      let start = ConnectHead.start
      let (bytes, isOpen) = receive(start.count, Int32(MSG_PEEK))
      if bytes.isEmpty { return isOpen ? .wait : .gone }
      guard start.starts(with: bytes) else { return request() }
      if bytes.count < start.count {
        // poll(2) reports the bytes that are left where they are again and again, unless it waits
        // for more of them. If it does, and there are not more, no more will come.
        if waitsForStart { return request() }
        waitsForStart = true
        setLeast(start.count)
        return .wait
      }
      if waitsForStart { setLeast(1) }
    }
    return readHead()
  }

  private mutating func request() -> Wish {
    if waitsForStart { setLeast(1) }
    return .request
  }

  private mutating func readHead() -> Wish {
    while true {
      let (bytes, isOpen) = receive(ConnectHead.maximumBytes - head.count, Int32(MSG_PEEK))
      if bytes.isEmpty { return isOpen ? .wait : .gone }
      let seen = head.count
      head += bytes
      let length = ConnectHead.length(in: head, after: seen)
      if let length { head.removeSubrange(length...) }
      _ = receive(head.count - seen, 0)
      // Without an end the head is refused.
      if length != nil || head.count >= ConnectHead.maximumBytes { return .connect }
    }
  }

  /// Receives what has come, at most `count` bytes; nothing if the client has left or has to send
  /// more.
  private func receive(_ count: Int, _ flags: Int32) -> (bytes: [UInt8], isOpen: Bool) {
    var failure: Int32 = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, size in
      // Safety: at most `count` bytes are written into the buffer, which has that many.
      let result = unsafe recv(client.descriptor, buffer.baseAddress, count, flags)
      failure = result < 0 ? errno : 0
      size = max(0, result)
    }
    return (bytes, [EAGAIN, EWOULDBLOCK, EINTR].contains(failure))
  }

  /// Sets the number of bytes from which on poll(2) reports them.
  private func setLeast(_ count: Int) {
    SocketEnd.setOption(SO_RCVLOWAT, Int32(count), of: client.descriptor)
  }
}
