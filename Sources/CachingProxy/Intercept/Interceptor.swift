import CMicrohttpd
import CacheSystem
import HTTPSemantics
import HTTPTransports

/// Decides which tunnels are intercepted: the proxy speaks TLS with the client under a certificate of
/// the user's own authority, and the requests go through the store like all others.
///
/// A host is left alone if the user has excluded it, or the authority may not vouch for it (name
/// constraints, the end of its time), and for an hour if a client has refused our certificate
/// (``RefusedHosts``).
final class Interceptor: Sendable {
  private struct State {
    /// The hosts that clients have asked for, by socket, until their connections begin.
    var targets: [Int32: InterceptedTarget] = [:]
    var refused = RefusedHosts()
    var hasToldEnd = false
  }

  private let authority: LocalAuthority
  private let excluded: [HostPattern]
  private let rules: TunnelRules
  private let core: ProxyCore
  private let state = Lock(State())

  init(_ authority: LocalAuthority, excluded: [HostPattern], _ rules: TunnelRules, core: ProxyCore)
  {
    self.authority = authority
    self.excluded = excluded
    self.rules = rules
    self.core = core
  }

  /// Answers a `CONNECT`, so that TLS with the client can begin.
  ///
  /// - Returns: `nil` if the connection has to become a tunnel, or has to be refused as one; false
  ///   if the client has gone, and its connection is closed.
  func admit(_ client: NewClient, head bytes: [UInt8]) -> Bool? {
    guard ConnectHead.length(in: bytes) != nil, let head = try? ConnectHead(bytes),
      let target = InterceptedTarget(head), rules.mayIntercept(head, target),
      !isLeftAlone(head.host)
    else { return nil }
    forget(client.descriptor)
    guard authority.expect(head.host, on: client.descriptor) else { return nil }
    state.withLock { $0.targets[client.descriptor] = target }
    client.sendWithoutDelay()
    let answer = TunnelAnswer.established(via: core.identity.via)
    // The buffer of a new socket takes them all.
    let sent = unsafe answer.withUnsafeBytes { unsafe SocketEnd.write($0, to: client.descriptor) }
    if sent == .bytes(answer.count) { return true }
    _ = end(client.descriptor)
    client.close()
    return false
  }

  /// Returns the host for which a connection was admitted; `nil` for other connections.
  func target(of socket: Int32) -> InterceptedTarget? { state.withLock { $0.targets[socket] } }

  /// The hosts that are tunnelled because clients have refused our certificate, in order.
  var refusedHosts: [String] { state.withLock { $0.refused.hosts(at: .now) } }

  /// Notes that the client of a connection that was admitted accepts the certificate.
  func asked(_ target: InterceptedTarget) {
    state.withLock { $0.refused.accept(target.url.host) }
  }

  /// Forgets what is known of an earlier connection with the number of a new one. The server library
  /// does not tell the end of a connection if it had no memory to begin it.
  func forget(_ socket: Int32) { _ = end(socket) }

  /// Notes the end of a connection, before its socket is closed.
  func ended(_ socket: Int32, of client: String) {
    guard let (target, handshake) = end(socket) else { return }
    switch handshake {
    case ocmhd_handshake_done: asked(target)
    case ocmhd_handshake_offered:
      // Offline there are no tunnels, and another client may trust the authority.
      let isRefused =
        !rules.isOffline && state.withLock { $0.refused.refuse(target.url.host, at: .now) }
      guard isRefused else {
        record(target, client, "the client has broken off the handshake")
        return
      }
      core.notify { $0.leftAlone(target.url.host) }
      record(
        target, client,
        "the client has not accepted our certificate; this host is tunnelled for an hour; "
          + "make the client trust the authority, and start the proxy again")
    case ocmhd_handshake_other:
      record(target, client, "the client asked for a certificate of another host (SNI)")
    default: break
    }
  }

  private func end(_ socket: Int32) -> (InterceptedTarget, ocmhd_handshake)? {
    guard let target = state.withLock({ $0.targets.removeValue(forKey: socket) }) else {
      return nil
    }
    return (target, LocalAuthority.forget(socket))
  }

  private func isLeftAlone(_ host: String) -> Bool {
    if excluded.contains(where: { $0.matches(host) }) || !authority.covers(host) { return true }
    guard authority.validity == .valid else {
      let isNew = state.withLock { state in
        defer { state.hasToldEnd = true }
        return !state.hasToldEnd
      }
      if isNew { core.notify { $0.authorityEnded() } }
      return true
    }
    return state.withLock { state in
      // The clock may have been wrong.
      state.hasToldEnd = false
      return state.refused.contains(host, at: .now)
    }
  }

  private func record(_ target: InterceptedTarget, _ client: String, _ reason: String) {
    var note = AnswerNote(start: core.clock.now(), method: "CONNECT", url: target.authority)
    note.take(OwnAnswers.noHandshake(reason))
    let record = note.record(client: client, true, core.clock.now())
    core.notify { $0.answered(record) }
  }
}

/// The server that a client believes to speak TLS with.
struct InterceptedTarget: Sendable, Hashable {
  /// `https`, host and port, with the path `/`.
  let url: NormalizedURL
  let authority: String

  init?(_ head: ConnectHead) {
    guard let url = try? NormalizedURL("https://\(head.authority)/") else { return nil }
    self.url = url
    authority = head.authority
  }

  /// Returns the URL of a request on the connection.
  ///
  /// - Throws: ``RequestRefusal``: 421 if the request is for another host (RFC 9110, section 7.4),
  ///   400 if its target is no path.
  func url(of head: RequestHead) throws(RequestRefusal) -> NormalizedURL {
    if head.method.rawValue == "CONNECT" {
      throw RequestRefusal(501, "a CONNECT must be the first request of its connection")
    }
    if let host = head.fields.first(named: "Host")?.text {
      guard let asked = try? NormalizedURL("https://\(host)/"), asked == url else {
        throw RequestRefusal(
          421, "the host that is asked for is not \(authority), for which the connection was made")
      }
    }
    let asked =
      head.target.hasPrefix("/")
      ? try? url.replacingTarget(head.target) : try? NormalizedURL(head.target)
    guard let asked else { throw RequestRefusal(400, "the target cannot be understood") }
    guard asked.isSameOrigin(as: url) else {
      throw RequestRefusal(
        421, "the URL that is asked for is not of \(authority), for which the connection was made")
    }
    return asked
  }
}

extension TunnelRules {
  /// Whether a connection may be intercepted: to a port that tunnels may lead to, not by way of this
  /// proxy, and not to it. Also offline.
  fileprivate func mayIntercept(_ head: ConnectHead, _ target: InterceptedTarget) -> Bool {
    ports.contains(head.port) && !identity.isLoop(head.fields)
      && !(head.port == ownPort && target.url.isLoopback)
  }
}
