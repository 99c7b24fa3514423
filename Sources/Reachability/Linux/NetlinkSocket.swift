#if os(Linux)
  import CReachability
  import CacheSystem

  /// A socket of rtnetlink(7) for questions.
  final class NetlinkSocket: Sendable {
    /// The longest datagram that is read, in bytes: a link with all its statistics has about 2 KB.
    static let datagramBytes = 32 << 10

    /// How long the kernel may take, in milliseconds; it answers within microseconds.
    private static let patience: Int32 = 1000

    private let descriptor: Descriptor

    /// - Throws: EAFNOSUPPORT, EPERM or EACCES where netlink is not allowed, EMFILE, ENFILE, ENOBUFS.
    init(listens: Bool) throws(SystemError) {
      let result = cr_open(listens ? 1 : 0)
      if result < 0 { throw SystemError(-result) }
      descriptor = Descriptor(result, of: RealFileSystem())
    }

    /// The number, for waiting.
    var number: Int32 { descriptor.raw }

    /// Asks where packets to a public address go.
    func route(_ family: Int32, _ sequence: UInt32) throws(SystemError) -> NetlinkMessage.Route {
      try check(cr_ask_route(number, sequence, family))
      guard case .route(let route) = try answer(to: sequence) else { throw .inputOutput }
      return route
    }

    /// Asks for a link.
    func link(_ index: Int32, _ sequence: UInt32) throws(SystemError) -> NetlinkMessage.Link {
      try check(cr_ask_link(number, sequence, index))
      guard case .link(let link) = try answer(to: sequence) else { throw .inputOutput }
      return link
    }

    /// Reads away what has come; lost messages (ENOBUFS) are no error, as nobody reads them.
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

    /// Tells whether an error says that messages were lost.
    private static let overrun = SystemError.noBuffers.code
    private static let tooLong = SystemError.messageTooLong.code

    /// Waits for the answer to a question; others, late ones for example, are passed over.
    private func answer(to sequence: UInt32) throws(SystemError) -> NetlinkMessage {
      var buffer = [UInt8](repeating: 0, count: Self.datagramBytes)
      for _ in 0..<100 {
        guard try check(cr_wait(number, -1, Self.patience)) > 0 else { throw .timedOut }
        // Safety: the array has the count that is passed.
        let count = unsafe cr_receive(number, &buffer, buffer.count)
        if count < 0 {
          let error = SystemError(Int32(truncatingIfNeeded: -count))
          if error == .wouldBlock { continue }
          throw error
        }
        let items = NetlinkMessages.read(buffer.span.extracting(first: Int(count)))
        guard let item = items.first(where: { $0.sequence == sequence }) else { continue }
        if case .failure(let code) = item.message { throw SystemError(code) }
        return item.message
      }
      throw .timedOut
    }

    @discardableResult
    private func check(_ result: Int32) throws(SystemError) -> Int32 {
      if result < 0 { throw SystemError(-result) }
      return result
    }
  }
#endif
