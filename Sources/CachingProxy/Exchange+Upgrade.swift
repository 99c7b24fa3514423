import CacheSystem
import HTTPSemantics
import HTTPTransports

// A request that asks for another protocol, such as WebSocket.
extension Exchange {
  /// Asks the server of a request for another protocol, and sends its answer.
  func upgrade(_ request: HTTPRequest, to name: String, _ desk: TunnelDesk) -> Int? {
    let plain = toldOfClient(request)
    var asking = plain
    asking.fields.append(HTTPField("Upgrade", name))
    state.withLock { $0.phase = .waiting }
    start { [core, asking] in
      if let answer = await desk.upgrade(asking) { return answer }
      return await core.backend.answer(plain, body: nil) { [weak self] in self?.interim($0) }
    }
    return 0
  }

  /// Begins the tunnel; called by the library after a 101 has been sent.
  ///
  /// - Parameter early: The bytes that the client has sent since its request.
  func switchProtocols(_ client: any TunnelEnd, _ early: [UInt8]) {
    let server = state.withLock { state in
      state.isTunnel = state.switched != nil
      return state.switched.take()
    }
    guard let server else { return client.close(isBroken: true) }
    core.becomeTunnel()
    server.begin(client, early) { [self] result in state.withLock { $0.relayed = result } }
  }
}

// The same with TLS.
extension Exchange {
  /// Sends a 101 and begins the tunnel.
  ///
  /// The library leaves a suspended connection alone. Bytes that it has read after the head would be
  /// lost: a client must not send any before the 101.
  func switchEncrypted(_ answer: ProxyAnswer, _ server: SwitchedServer) -> Int? {
    // The connection waits for `endEncrypted`.
    guard let client = connection.encryptedEnd(closed: { [self] in endEncrypted($0) }) else {
      return nil
    }
    let lines = lines(of: answer, to: state.withLock { $0.reversed }, closes: false)
    let head = EarlyAnswer.plainHead(
      status: 101, lines: lines + Array("Connection\0Upgrade\0".utf8))
    let isSuspended = state.withLock { state in
      suspend(&state)
      state.isTunnel = state.isSuspended
      return state.isSuspended
    }
    guard isSuspended else { return nil }
    connection.sendWithoutDelay()
    core.becomeTunnel()
    server.begin(client, [], after: head) { [self] result in state.withLock { $0.relayed = result }
    }
    return 0
  }

  /// Lets the library end the connection.
  private func endEncrypted(_ isBroken: Bool) {
    state.withLock { state in
      guard !state.isEnded else { return }
      if isBroken { connection.breakOnClose() }
      state.isAborted = true
      wake(&state)
    }
  }
}

extension RequestHead {
  /// The protocols that the client asks for instead of HTTP/1.1, or `nil` if it asks for none that
  /// this proxy passes on.
  ///
  /// A server may ignore such a wish (RFC 9110, section 7.8). TLS and other versions of HTTP are not
  /// passed on, because their requests could not be answered from the store, and requests with a body
  /// or another method than `GET` are not, because they may change what is stored.
  var upgrade: String? {
    guard isHTTP11, method == .get, !hasBody,
      ListSyntax.members(of: "Connection", in: fields).contains(where: {
        $0.lowercased() == "upgrade"
      })
    else { return nil }
    let wanted = ListSyntax.members(of: "Upgrade", in: fields).filter { name in
      let name = name.lowercased()
      return name != "h2c" && !name.hasPrefix("tls/") && !name.hasPrefix("http/")
    }
    return wanted.isEmpty ? nil : wanted.joined(separator: ", ")
  }
}
