import CacheFormat
package import CacheSystem
import HTTPSemantics
import HTTPTransports
import MessageDigests

/// Sends requests to one server, and keeps a breaker for look-ups and one for uploads.
final class TierServer: Sendable {
  /// The two uses of a server, which fail separately: a full server can still be read.
  enum Use: Sendable {
    case reading, writing
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
  let limits: RemoteTimeLimits
  private let transport: any HTTPTransport
  private let clock: TierClock
  private let maximumLookUps: Int
  /// The document that a probe asks for.
  private let probed: ObjectName
  private let onNotice: @Sendable (RemoteNotice) -> Void
  private let health = Lock(Health())

  init(
    _ server: RemoteServer, _ options: RemoteCacheOptions, transport: any HTTPTransport,
    clock: TierClock
  ) {
    self.server = server
    limits = options.limits
    maximumLookUps = options.maximumLookUps
    probed = .purgeList(of: options.namespace)
    onNotice = options.onNotice
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
    let (reason, isProbe) = health.withLock { health -> (RemoteReason?, Bool) in
      if health.isReadingOff || use == .writing && health.isWritingOff { return (.off, false) }
      if use == .writing { return (health.writing.mayAdmit(at: now) ? nil : .open, false) }
      if health.reading.state == .closed { return (nil, false) }
      let isProbe = health.reading.admit(at: now)
      if isProbe { health.running += 1 }
      return (.open, isProbe)
    }
    if isProbe { Task { [self] in await probe() } }
    return reason
  }

  private func probe() async {
    guard let response = try? await send(.reading, "GET", probed.path, isAdmitted: true) else {
      return
    }
    _ = try? await document(response, .reading, hasTag: false)
  }

  /// Sends a request; the caller must call ``finish(_:_:)`` with the result of the whole answer.
  ///
  /// - Parameter isAdmitted: Whether the breaker has let the request through already.
  /// - Throws: the reason why there is no answer. The result is recorded then.
  func send(
    _ use: Use, _ method: String, _ path: String, fields: [HTTPField] = [],
    body: RequestBody? = nil, bodyDigest: [UInt8]? = nil, bytes: UInt64 = 0,
    isAdmitted: Bool = false
  ) async throws(RemoteReason) -> TransportResponse {
    if !isAdmitted { try admit(use, path) }
    do throws(RemoteReason) {
      let response = try await exchange(
        use, method, path, fields: fields, body: body, bodyDigest: bodyDigest, bytes: bytes)
      try await judge(response, use, method)
      return response
    } catch {
      finish(use, error)
      throw error
    }
  }

  /// Ends a request, and records its result: `nil` for a success.
  func finish(_ use: Use, _ reason: RemoteReason?) {
    end(use)
    record(use, reason)
  }

  /// Ends a request that is not a result yet.
  func end(_ use: Use) {
    if use == .reading { health.withLock { $0.running -= 1 } }
  }

  func record(_ use: Use, _ reason: RemoteReason?) {
    let now = clock.monotonic()
    health.withLock { health in
      var breaker = use == .reading ? health.reading : health.writing
      if reason == .cancelled {
        breaker.forget(at: now)
      } else {
        breaker.record(isFailure: reason?.isServerFault ?? false, at: now)
      }
      if use == .reading { health.reading = breaker } else { health.writing = breaker }
    }
  }

  var statistics: RemoteStatistics.Server {
    health.withLock { health in
      RemoteStatistics.Server(
        url: url, reading: health.isReadingOff ? "off" : health.reading.state.rawValue,
        writing: health.isReadingOff || health.isWritingOff ? "off" : health.writing.state.rawValue)
    }
  }

  private func admit(_ use: Use, _ path: String) throws(RemoteReason) {
    if let refusal = refusal(of: use) { throw refusal }
    let now = clock.monotonic()
    let reason = health.withLock { health -> RemoteReason? in
      guard use == .reading else { return health.writing.admit(at: now) ? nil : .open }
      // Many long bodies must not keep purges from being read.
      if path != probed.path, health.running >= maximumLookUps { return .busy }
      guard health.reading.admit(at: now) else { return .open }
      health.running += 1
      return nil
    }
    if let reason { throw reason }
  }

  private func exchange(
    _ use: Use, _ method: String, _ path: String, fields: [HTTPField], body: RequestBody?,
    bodyDigest: [UInt8]?, bytes: UInt64
  ) async throws(RemoteReason) -> TransportResponse {
    guard let url = server.url(of: path) else { throw .unreachable }
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
    callOut { onNotice(notice) }
  }

  func reportWrongBytes(of key: ByteString) {
    callOut { onNotice(.wrongBytes(server: url, key: key.description)) }
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
