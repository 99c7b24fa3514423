#if os(Linux)
  import CReachability
  import CLibrary
  import CacheSystem

  /// A socket of rtnetlink(7) for requests to the kernel, or for its notifications. A notification
  /// shows only that something has changed, and the state is queried anew; so a lost one does no harm.
  final class NetlinkSocket: Sendable {
    /// The limit on the length of a datagram, in bytes; a link with all its statistics has about 2
    /// KB.
    static let datagramBytes = 32 << 10

    /// The longest wait for a response, in milliseconds. The kernel answers within microseconds.
    private static let patience: Int32 = 1000

    private let descriptor: Descriptor

    /// - Throws: EAFNOSUPPORT, EPERM or EACCES if netlink is not allowed, EMFILE, ENFILE, ENOBUFS.
    init(listens: Bool) throws(SystemError) {
      let result = cr_open(listens ? 1 : 0)
      if result < 0 { throw SystemError(-result) }
      descriptor = Descriptor(result, of: RealFileSystem())
    }

    var number: Int32 { descriptor.raw }

    /// Returns the route of packets to a public address.
    func route(_ family: Int32, _ sequence: UInt32) throws(SystemError) -> NetlinkMessage.Route {
      try check(cr_ask_route(number, sequence, family))
      guard case .route(let route) = try answer(to: sequence) else { throw .inputOutput }
      return route
    }

    func link(_ index: Int32, _ sequence: UInt32) throws(SystemError) -> NetlinkMessage.Link {
      try check(cr_ask_link(number, sequence, index))
      guard case .link(let link) = try answer(to: sequence) else { throw .inputOutput }
      return link
    }

    /// Reads and discards all messages. Lost messages (ENOBUFS) are not an error, because their
    /// contents are not used.
    func drain() {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        // Safety: the array has the count that is passed.
        let result = unsafe cr_receive(number, &buffer, buffer.count)
        switch Int32(truncatingIfNeeded: -result) {
        case SystemError.wouldBlock.code: return
        case Self.overrun, Self.tooLong: continue
        default: if result < 0 { return }
        }
      }
    }

    private static let overrun = SystemError.noBuffers.code
    private static let tooLong = SystemError.messageTooLong.code

    /// Waits for the response to a request. Other messages, such as late responses, are skipped.
    private func answer(to sequence: UInt32) throws(SystemError) -> NetlinkMessage {
      var buffer = [UInt8](repeating: 0, count: Self.datagramBytes)
      for _ in 0..<100 {
        guard Poll.isReady(number, for: POLLIN, milliseconds: Self.patience) else {
          throw .timedOut
        }
        // Safety: the array has the count that is passed.
        let count = unsafe cr_receive(number, &buffer, buffer.count)
        if count < 0 {
          let error = SystemError(Int32(truncatingIfNeeded: -count))
          if error == .wouldBlock { continue }
          throw error
        }
        let received = buffer[..<Int(count)]
        let items = NetlinkMessages.read(received.span)
        guard let item = items.first(where: { $0.sequence == sequence }) else { continue }
        if case .failure(let code) = item.message { throw SystemError(code) }
        return item.message
      }
      throw .timedOut
    }

    private func check(_ result: Int32) throws(SystemError) {
      if result < 0 { throw SystemError(-result) }
    }
  }
#endif
