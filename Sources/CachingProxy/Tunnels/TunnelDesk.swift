import CacheSystem
import HTTPSemantics
import HTTPTransports
import Synchronization

/// Opens tunnels, bounds their number, and records their ends.
final class TunnelDesk: Sendable {
  /// The longest time that a client gets to read a refusal.
  private static let refusalTime = Duration.seconds(5)

  private let core: ProxyCore
  private let rules: TunnelRules
  private let transport: any TunnelTransport
  private let loops: [RelayLoop]
  private let limit: Int
  private let idle: Duration
  private let open = Atomic<Int>(0)
  private let refusals = Atomic<Int>(0)
  private let next = Atomic<Int>(0)

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - rules: Where tunnels of a forward proxy may lead to.
  ///   - limit: The most tunnels at the same time, with those that are being opened.
  ///   - idle: The longest time without a byte in a tunnel.
  init?(
    core: ProxyCore, _ rules: TunnelRules, transport: any TunnelTransport, threads: Int, limit: Int,
    idle: Duration
  ) {
    self.core = core
    self.rules = rules
    self.transport = transport
    self.limit = limit
    self.idle = idle
    var loops: [RelayLoop] = []
    for _ in 0..<max(1, threads) {
      guard let loop = RelayLoop() else {
        for loop in loops { loop.stop() }
        return nil
      }
      loops.append(loop)
    }
    self.loops = loops
  }

  /// Answers a `CONNECT`: with a tunnel, or with a refusal.
  ///
  /// - Parameters:
  ///   - client: The connection, from which the head was read, and nothing after it.
  ///   - address: The address of the client.
  ///   - bytes: The bytes of the head; too many if the head has no end.
  func connect(_ client: any TunnelEnd, from address: String, head bytes: [UInt8]) {
    var note = AnswerNote(start: core.clock.now(), method: "CONNECT")
    do throws(RequestRefusal) {
      guard ConnectHead.length(in: bytes) != nil else {
        throw RequestRefusal(431, "the head of the request is too large, or came too slowly")
      }
      let head = try ConnectHead(bytes)
      note.url = head.authority
      try rules.check(head)
      try enter()
      let target = TunnelTarget(
        host: head.host, port: head.port, via: core.identity.via, allows: rules.allows)
      Task(priority: .userInitiated) { [note] in
        await connect(client, from: address, target, note)
      }
    } catch {
      if note.url.isEmpty { note.url = TargetText.withoutCredentials(Self.target(bytes)) }
      refuse(client, from: address, error, note)
    }
  }

  private func connect(
    _ client: any TunnelEnd, from address: String, _ target: TunnelTarget, _ note: AnswerNote
  ) async {
    do throws(TransportError) {
      let server = try await transport.connect(to: target)
      let head = TunnelAnswer.established(via: core.identity.via)
      core.notify { $0.tunnelBegan() }
      add(
        Relay(client: client, server: server, head: head, first: ([], []), idle: idle) {
          [self] result in
          leave()
          var tunnel = note
          tunnel.status = 200
          tunnel.cacheStatus = TunnelAnswer.cacheStatus
          tunnel.reason = "tunnel"
          tunnel.take(result)
          let record = tunnel.record(client: address, result.isComplete, core.clock.now())
          core.notify { $0.answered(record) }
        })
    } catch {
      leave()
      refuse(client, from: address, rules.refusal(error), note)
    }
  }

  /// Sends a request that asks for another protocol.
  ///
  /// - Returns: The answer to it; `nil` if the server has ignored the wish, and the request is to be
  ///   sent without it.
  func upgrade(_ request: HTTPRequest) async -> ProxyAnswer? {
    let url = request.url
    let isReverse = core.router.origin != nil
    // Something may be stored.
    if rules.isOffline { return nil }
    do throws(RequestRefusal) {
      try enter()
      let target = TunnelTarget(
        host: url.host, port: UInt16(clamping: url.port), via: core.identity.via,
        allows: { [rules] in isReverse || rules.allows($0, $1) })
      do throws(TransportError) {
        return try answer(try await transport.upgrade(request, to: target), url)
      } catch {
        leave()
        throw rules.refusal(error)
      }
    } catch {
      return OwnAnswers.refusal(error)
    }
  }

  private func answer(
    _ answer: UpgradeAnswer, _ url: NormalizedURL
  ) throws(TransportError) -> ProxyAnswer? {
    switch answer {
    case .ignored:
      leave()
      return nil
    case .answered(let head, let body):
      leave()
      return ProxyAnswer(
        head: head, body: .bytes(body), source: .network, cacheStatus: TunnelAnswer.bypass,
        reason: "asked for another protocol")
    case .switched(let head, let server, let first):
      // RFC 9110, section 7.8. libmicrohttpd would send such a 101 and then end the connection.
      guard let name = head.fields.first(named: "Upgrade")?.text, !name.isEmpty else {
        server.close(isBroken: true)
        throw TransportError(
          .protocolViolation, url: url.string, detail: "a switch to a protocol without a name")
      }
      let switched = SwitchedServer(
        server, first: first, idle: idle, add: { [self] in add($0) },
        leave: { [self] in leave() })
      return ProxyAnswer(
        head: head, body: .tunnel(switched), source: .tunnel, cacheStatus: TunnelAnswer.bypass,
        reason: "tunnel (\(name))")
    }
  }

  /// Counts one more tunnel.
  ///
  /// - Throws: ``RequestRefusal`` with 503 if there are too many.
  private func enter() throws(RequestRefusal) {
    guard open.add(1, ordering: .relaxed).newValue <= limit else {
      leave()
      throw RequestRefusal(503, "too many tunnels are open; try again later")
    }
  }

  private func leave() { open.subtract(1, ordering: .relaxed) }

  /// Sends an answer of the proxy, and closes the connection when the client has read it. If too many
  /// clients have not read theirs, it is closed at once.
  private func refuse(
    _ client: any TunnelEnd, from address: String, _ refusal: RequestRefusal, _ note: AnswerNote
  ) {
    let answer = OwnAnswers.refusal(refusal)
    let bytes = TunnelAnswer.bytes(of: answer, via: core.identity.via, clock: core.clock)
    let isSent = refusals.add(1, ordering: .relaxed).newValue <= limit
    let relay = Relay(
      client: client, server: NoEnd(), head: bytes, first: ([], []),
      idle: isSent ? Self.refusalTime : .zero, isRefusal: true
    ) { [self] _ in
      refusals.subtract(1, ordering: .relaxed)
      var refused = note
      refused.take(answer)
      let record = refused.record(client: address, isSent, core.clock.now())
      core.notify { $0.answered(record) }
    }
    if isSent { add(relay) } else { relay.close() }
  }

  private func add(_ relay: sending Relay) {
    let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
    loops[Int(UInt(bitPattern: number) % UInt(loops.count))].add(relay)
  }

  /// Cuts all tunnels, and returns when they are closed.
  func stop() {
    for loop in loops { loop.stop() }
  }

  private static func target(_ bytes: [UInt8]) -> [UInt8] {
    Array(bytes.dropFirst(ConnectHead.start.count).prefix { $0 > 0x20 })
  }
}
