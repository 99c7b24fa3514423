import CacheFormat
package import CacheSystem
import HTTPSemantics
import HTTPTransports
import MessageDigests

/// Sends requests to one server, and keeps a breaker for look-ups and one for uploads.
package final class TierServer: Sendable {
  /// The two uses of a server, which fail separately: a full server can still be read.
  package enum Use: Sendable {
    case reading, writing
  }

  /// A request that a breaker has let through. Its result must be recorded.
  struct Admission: Sendable {
    let server: TierServer
    let use: Use
    /// The round of the breaker; `nil` if the result does not count.
    fileprivate let round: UInt64?

    /// Ends the request, and records its result: `nil` for a success.
    func finish(_ reason: RemoteReason?) {
      end()
      record(reason)
    }

    /// Ends the request, which has no result yet.
    func end() {
      if use == .reading { server.health.withLock { $0.running -= 1 } }
    }

    /// Records the result of the request.
    func record(_ reason: RemoteReason?) { server.record(reason, of: self) }
  }

  private struct Health {
    var reading = Breaker()
    var writing = Breaker()
    var isReadingOff = false
    var isWritingOff = false
    /// The requests for look-ups.
    var running = 0
  }

  let server: RemoteServer
  private let setup: RemoteCacheOptions
  private let transport: any HTTPTransport
  private let clock: TierClock
  /// The document that a probe asks for.
  private let probed: ObjectName
  private let health = Lock(Health())

  init(
    _ server: RemoteServer, _ options: RemoteCacheOptions, transport: any HTTPTransport,
    clock: TierClock
  ) {
    self.server = server
    setup = options
    probed = .purgeList(of: options.namespace)
    self.transport = transport
    self.clock = clock
  }

  var url: String { server.base.string }

  /// Returns why the server would not be asked now; `nil` if it would.
  ///
  /// If the breaker for look-ups is open, this sends the probe when it is time. It runs in the
  /// background, because a look-up must not wait for a server that has failed.
  func refusal(of use: Use) -> RemoteReason? {
    let now = clock.monotonic()
    let (reason, probe) = health.withLock { health -> (RemoteReason?, UInt64?) in
      if health.isReadingOff || use == .writing && health.isWritingOff { return (.off, nil) }
      if use == .writing { return (health.writing.mayAdmit(at: now) ? nil : .open, nil) }
      if health.reading.state == .closed { return (nil, nil) }
      let probe = health.reading.admit(at: now)
      if probe != nil { health.running += 1 }
      return (.open, probe)
    }
    if let probe {
      let admission = Admission(server: self, use: .reading, round: probe)
      Task { [self] in _ = try? await document(probed, as: admission) }
    }
    return reason
  }

  /// Sends a request; the caller must call ``Admission/finish(_:)`` with the result of the whole
  /// answer.
  ///
  /// - Parameter admission: The admission of a request that was let through already.
  /// - Throws: the reason why there is no answer. The result is recorded then.
  func send(
    _ use: Use, _ method: String, _ path: String, fields: [HTTPField] = [],
    body: RequestBody? = nil, bodyDigest: [UInt8]? = nil, bytes: UInt64 = 0,
    as admission: Admission? = nil
  ) async throws(RemoteReason) -> (TransportResponse, Admission) {
    let admission = if let admission { admission } else { try admit(use, path) }
    do throws(RemoteReason) {
      let response = try await exchange(
        use, method, path, fields: fields, body: body, bodyDigest: bodyDigest, bytes: bytes)
      try await judge(response, use, method)
      return (response, admission)
    } catch {
      admission.finish(error)
      throw error
    }
  }

  /// An upload that is sent whatever the breaker says, and whose result does not count.
  var uncounted: Admission { Admission(server: self, use: .writing, round: nil) }

  private func record(_ reason: RemoteReason?, of admission: Admission) {
    guard let round = admission.round else { return }
    let now = clock.monotonic()
    health.withLock { health in
      var breaker = admission.use == .reading ? health.reading : health.writing
      if reason == .cancelled {
        breaker.forget(round, at: now)
      } else {
        breaker.record(isFailure: reason?.isServerFault ?? false, of: round, at: now)
      }
      if admission.use == .reading { health.reading = breaker } else { health.writing = breaker }
    }
  }

  var statistics: RemoteStatistics.Server {
    health.withLock { health in
      RemoteStatistics.Server(
        url: url, reading: health.isReadingOff ? "off" : health.reading.state.rawValue,
        writing: health.isReadingOff || health.isWritingOff ? "off" : health.writing.state.rawValue)
    }
  }

  private func admit(_ use: Use, _ path: String) throws(RemoteReason) -> Admission {
    if let refusal = refusal(of: use) { throw refusal }
    let now = clock.monotonic()
    let round = try health.withLock { health throws(RemoteReason) -> UInt64? in
      guard use == .reading else { return health.writing.admit(at: now) }
      // Many long bodies must not keep purges from being read.
      if path != probed.path, health.running >= setup.maximumLookUps { throw .busy }
      guard let round = health.reading.admit(at: now) else { return nil }
      health.running += 1
      return round
    }
    guard let round else { throw .open }
    return Admission(server: self, use: use, round: round)
  }

  private func exchange(
    _ use: Use, _ method: String, _ path: String, fields: [HTTPField], body: RequestBody?,
    bodyDigest: [UInt8]?, bytes: UInt64
  ) async throws(RemoteReason) -> TransportResponse {
    let base = server.base
    guard let url = try? base.replacingTarget(base.target + path) else { throw .unreachable }
    var request = HTTPRequest(
      method: HTTPMethod(rawValue: method), url: url, fields: HTTPFields(fields))
    authorize(&request, bodyDigest)
    do throws(TransportError) {
      return try await transport.send(
        request, body: body, options: options(use, bytes: bytes), onInterim: { _ in })
    } catch {
      throw RemoteReason(error)
    }
  }

  private func authorize(_ request: inout HTTPRequest, _ bodyDigest: [UInt8]?) {
    if let value = server.access.authorization {
      request.fields.append(HTTPField("Authorization", value))
    }
    guard case .s3(let credentials) = server.access else { return }
    credentials.sign(
      &request, contentDigest: (bodyDigest ?? Self.emptyDigest).hexadecimal,
      at: Timestamp(nanoseconds: clock.wall.now()))
  }

  private static let emptyDigest = MessageDigest.of([], .sha256)

  private func options(_ use: Use, bytes: UInt64) -> TransportOptions {
    let limits = setup.limits
    let megabytes = Int(clamping: bytes / 1_000_000)
    let isUpload = use == .writing
    return TransportOptions(
      connectTimeout: limits.connect, idleTimeout: isUpload ? limits.upload : limits.firstByte,
      wholeTimeout: (isUpload ? limits.upload : limits.whole) + limits.perMegabyte * megabytes)
  }

  /// Throws the reason for a status that is an answer to nothing here. Others are for the caller.
  private func judge(
    _ response: TransportResponse, _ use: Use, _ method: String
  ) async throws(RemoteReason) {
    let status = response.head.status
    let reason: RemoteReason
    switch status {
    // Many servers do not have these methods.
    case 100..<500 where method == "MKCOL" || method == "DELETE": return
    case 501 where method == "MKCOL" || method == "DELETE": return
    case 200, 201, 202, 204, 304, 404, 409, 410, 412: return
    case 401, 403:
      switchOff(use, status)
      reason = .refused
    case 405 where method == "PUT", 501 where method == "PUT":
      switchOff(use, status)
      reason = .refused
    case 300...399: reason = .redirect
    case 413, 507: reason = .full
    default: reason = .serverError
    }
    await response.body.end(within: 16 << 10)
    throw reason
  }

  private func switchOff(_ use: Use, _ status: Int) {
    let isFirst = health.withLock { health in
      switch use {
      case .reading:
        defer { health.isReadingOff = true }
        return !health.isReadingOff
      case .writing:
        defer { health.isWritingOff = true }
        return !health.isReadingOff && !health.isWritingOff
      }
    }
    guard isFirst else { return }
    let notice: RemoteNotice =
      use == .reading
      ? .switchedOff(server: url, status: status) : .readOnly(server: url, status: status)
    callOut { setup.onNotice(notice) }
  }

  func reportWrongBytes(of key: ByteString) {
    callOut { setup.onNotice(.wrongBytes(server: url, key: key.description)) }
  }
}

/// The clocks of a tier, which tests set.
package struct TierClock: Sendable {
  /// Returns the nanoseconds of a clock that never jumps.
  package var monotonic: @Sendable () -> Int64
  package var wall: any WallClock

  /// Creates the clocks of the system.
  package init(
    monotonic: @escaping @Sendable () -> Int64 = { monotonicNanoseconds() },
    wall: any WallClock = SystemClock()
  ) {
    self.monotonic = monotonic
    self.wall = wall
  }
}
