import CCurl
import CCurlLibrary
import CacheSystem
import HTTPSemantics
import HTTPTransports

/// The receiver of libcurl's callbacks for one transfer. Called on the driver thread only.
final class RunningTransfer {
  let transfer: Transfer
  let handle: EasyHandle

  /// The time of the last activity of the server, or `nil` before there is a connection. Until then
  /// the connect timeout applies.
  private(set) var lastActivity: ContinuousClock.Instant?

  /// The time of the start, from which the connect timeout counts.
  private let started = ContinuousClock.now

  /// Whether the kept connection that libcurl chose was refused, or was lost before an answer, so that
  /// the transfer must be started again on a new one.
  private(set) var needsOtherConnection = false

  /// Whether the response came over HTTP/2, whose connections are shared.
  private(set) var sharesConnection = false

  /// Whether the connection may be dead: a transfer to the same origin, which may share it, has
  /// exceeded a timeout, and nothing has been received since.
  var mayBeDead = false

  private let setup: NetworkSetup
  private let readBytes: Int
  private let sockets: IdleSockets
  private let lookUps: NameLookUps
  private var parser = HeadParser()
  private var isReceivePaused = false
  /// Whether the last read from the request's body had no bytes.
  private var isSendPaused = false
  private var wasSent = false
  /// The connection that is used, and the number of those that were made before.
  private var endpoints: IdleSockets.Endpoints?
  private var knownConnections = 0
  private var hasReceived = false
  private var hasHead = false
  private var chunks: ChunkedBody?
  /// Whether nothing but the end of the connection tells the end of the body.
  private var endsWithConnection = false
  private var failure: TransportError?
  /// The pins of the host, one of which the server must match; `nil` if it has none.
  let pins: Set<Pin>?

  init(
    _ transfer: Transfer, _ handle: EasyHandle, _ sockets: IdleSockets, _ lookUps: NameLookUps,
    _ setup: NetworkSetup, readBytes: Int
  ) {
    self.transfer = transfer
    self.setup = setup
    pins = setup.pins(of: transfer.request.url.host)
    self.handle = handle
    self.sockets = sockets
    self.lookUps = lookUps
    self.readBytes = readBytes
  }

  /// Returns the timeout that expires first, and the text of its error; `nil` if there is none.
  func nextTimeout(
    at now: ContinuousClock.Instant
  ) -> (time: ContinuousClock.Instant, detail: String)? {
    var timeouts: [(time: ContinuousClock.Instant, detail: String)] = []
    if let connectDeadline {
      timeouts.append((connectDeadline, "no connection was made in time"))
    }
    if let deadline = transfer.deadline, let timeout = transfer.options.wholeTimeout {
      timeouts.append((deadline, "it took longer than \(timeout)"))
    }
    if let timeout = transfer.options.idleTimeout {
      // The timeout of a transfer that has no connection yet, or is paused, starts later, from
      // zero: its deadline cannot be before this one.
      let deadline = idleDeadline ?? now + max(timeout, .milliseconds(1))
      timeouts.append((deadline, "no byte came for \(timeout)"))
    }
    return timeouts.min { $0.time < $1.time }
  }

  /// The time at which the idle timeout expires, or `nil` if it does not run now.
  private var idleDeadline: ContinuousClock.Instant? {
    guard let lastActivity, let timeout = transfer.options.idleTimeout, !isReceivePaused,
      !isSendPaused || transfer.upload?.isStopped == true
    else { return nil }
    return lastActivity + max(timeout, .milliseconds(1))
  }

  /// The time by which there must be a connection, or `nil` if there is one. A moment later than the
  /// limit, because libcurl can say more about it; but it has none while a transfer waits for the
  /// connection of another.
  private var connectDeadline: ContinuousClock.Instant? {
    guard lastActivity == nil, let timeout = transfer.options.connectTimeout else { return nil }
    return started + timeout + .milliseconds(500)
  }

  /// Whether the response may have ended without a notice from libcurl, which gives none while the
  /// upload is paused.
  var mayBeOver: Bool { hasHead && isSendPaused }

  /// Lets libcurl receive again after a pause. libcurl may call back before this returns.
  func resumeReceiving() {
    guard isReceivePaused else { return }
    isReceivePaused = false
    lastActivity = .now
    applyPauses()
  }

  /// Lets libcurl ask for more of the request's body after a pause.
  func resumeSending() {
    guard isSendPaused else { return }
    isSendPaused = false
    lastActivity = .now
    applyPauses()
  }

  /// Lets libcurl ask for more of the request's body although there is none, so that it notices the end of
  /// the response. That is no activity, and the pause goes on.
  func lookForEnd() {
    // Safety: the handle is valid. A failure is visible as the end of the transfer.
    _ = unsafe curl_easy_pause(handle.raw, isReceivePaused ? occurl_pause_receive : 0)
  }

  /// Returns the end of the transfer for libcurl's result.
  func outcome(of code: CURLcode) -> Transfer.Outcome<HTTPFields> {
    if let failure { return .failure(failure) }
    // libcurl sends a request again if the server has closed the kept connection, but not if it sees
    // that while it sends the body.
    if code == CURLE_SEND_ERROR, handle.newConnections == 0, !hasReceived {
      needsOtherConnection = mayRepeat()
    }
    guard code == CURLE_OK else {
      return .failure(
        transfer.error(
          CurlFailure.code(of: code, hasHead: hasHead),
          CurlFailure.detail(of: code, on: handle)))
    }
    // For libcurl, a connection that closes within the head is a response without a body.
    guard hasHead else {
      return .failure(transfer.error(.connectionLost, "the head is incomplete"))
    }
    guard chunks?.isOver ?? true else {
      return .failure(transfer.error(.truncatedBody, "the last chunk is missing"))
    }
    // RFC 9112, section 9.8.
    guard !endsWithConnection || transfer.request.url.scheme == .http || !handle.wasCut else {
      return .failure(transfer.error(.truncatedBody, "the server has not closed TLS"))
    }
    return .success(parser.trailers)
  }

  private func applyPauses() {
    let bits =
      (isReceivePaused ? occurl_pause_receive : 0) | (isSendPaused ? occurl_pause_send : 0)
    // Safety: the handle is valid. A failure is visible as the end of the transfer.
    _ = unsafe curl_easy_pause(handle.raw, bits)
  }
}

// The methods that libcurl calls.
extension RunningTransfer {
  /// Decides whether a name may be looked up.
  func mayLookUp() -> Bool {
    lookUps.mayBegin(for: transfer.request.url.host, setup, on: handle)
      || fail(.cannotResolve, NameLookUps.refusal)
  }

  /// Decides whether the request may be sent on a connection.
  ///
  /// libcurl sends a request again if a kept connection turns out to be closed. That is allowed
  /// only for methods that may be repeated (RFC 9110, section 9.2.2), and bodies that can be read
  /// again or were not begun.
  func mayUseConnection(_ endpoints: IdleSockets.Endpoints) -> Bool {
    lastActivity = .now
    self.endpoints = endpoints
    guard isPinned() else { return false }
    if !mayUse(endpoints) {
      needsOtherConnection = !wasSent || mayRepeat()
    } else if !wasSent || mayRepeat() {
      wasSent = true
      return true
    }
    if !needsOtherConnection {
      failure = transfer.error(.connectionLost, "the request may have reached the server")
    }
    return false
  }

  /// Returns whether a connection is new, or may be used again.
  private func mayUse(_ endpoints: IdleSockets.Endpoints) -> Bool {
    // libcurl may choose another connection after it has made one.
    let isNew = handle.newConnections > knownConnections
    knownConnections = handle.newConnections
    if isNew { sockets.noteNew(endpoints, of: handle) }
    handle.watchClosure()
    let isSecure = transfer.request.url.scheme == .https
    return isNew || sockets.mayReuse(endpoints, handle, isSecure: isSecure)
  }

  /// Prepares to send the request again; returns `false` if that is impossible.
  private func mayRepeat() -> Bool { transfer.request.method.isIdempotent && rewind() }

  /// Returns to the start of the request's body; returns `false` if that is impossible.
  func rewind() -> Bool {
    transfer.upload?.rewind() ?? true
  }

  /// Accepts all bytes of a piece of the response's body. A full buffer pauses the pieces after it.
  ///
  /// - Returns: `false` if libcurl has to stop.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    noteReceipt()
    // Safety, for both: the buffer is valid until this callback returns.
    guard chunks != nil else {
      unsafe hand(bytes)
      return true
    }
    return unsafe receiveChunks(bytes)
  }

  private func noteReceipt() {
    lastActivity = .now
    hasReceived = true
    mayBeDead = false
  }

  private func receiveChunks(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var body: [UInt8] = []
    var trailers: [[UInt8]] = []
    do throws(ChunkedBody.Violation) {
      // Safety: the buffer is valid until the callback returns; the bytes are copied.
      try unsafe chunks?.consume(bytes, into: &body, trailers: &trailers)
    } catch {
      return fail(.truncatedBody, error.text)
    }
    // libcurl 7.88 ignores such bytes, and their rest would come later.
    if chunks?.hasMore == true, !leaveConnection() { return false }
    // Safety: the bytes are copied during the call.
    if !body.isEmpty { unsafe body.withUnsafeBytes { unsafe hand($0) } }
    return trailers.allSatisfy { take($0) }
  }

  private func hand(_ bytes: UnsafeRawBufferPointer) {
    // Safety: the bytes are copied during the call.
    guard unsafe transfer.accept(bytes, nextAtMost: readBytes), !isReceivePaused else { return }
    isReceivePaused = true
    applyPauses()
  }

  /// Copies bytes of the request's body to libcurl.
  ///
  /// - Returns: The number of bytes, 0 at the end, or libcurl's value for a pause or an abort.
  func provide(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let upload = transfer.upload else { return 0 }
    // Safety: the buffer is valid until this callback returns.
    let read = unsafe upload.read(into: buffer) { [weak transfer] in
      transfer?.uploadIsReady()
    }
    switch read {
    case .bytes(let count):
      isSendPaused = false
      lastActivity = .now
      return count
    case .end:
      isSendPaused = false
      return 0
    case .wait:
      isSendPaused = true
      return Int(occurl_read_pause)
    case .failed(let detail):
      failure = transfer.error(.requestBodyFailed, detail)
      return Int(occurl_read_abort)
    }
  }

  /// Accepts a line of a head. Returns `false` if libcurl has to stop.
  func receiveLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
    noteReceipt()
    // Safety: the buffer is valid until this callback returns; it is copied.
    return take(unsafe Array(bytes))
  }

  private func take(_ line: consuming [UInt8]) -> Bool {
    switch parser.consume(line) {
    case .none: break
    case .interim(let head):
      if head.status == 100 { transfer.upload?.serverAnswered() }
      callOut { transfer.onInterim(head) }
    case .head(let head, let version):
      hasHead = true
      sharesConnection = mayShareConnection(version)
      // libcurl 7.88 takes "HTTP/2" from a server of HTTP/1, and then sees the end of a body elsewhere.
      guard sharesConnection ? version == "2" : version.hasPrefix("1.") else {
        return fail(.protocolViolation, "the answer is in another version than the connection")
      }
      if sharesConnection, let endpoints { sockets.noteHTTP2(endpoints) }
      if head.fields.contains("Transfer-Encoding"), mayHaveBody(head) { chunks = ChunkedBody() }
      endsWithConnection =
        chunks == nil && !sharesConnection && mayHaveBody(head)
        && !head.fields.contains("Content-Length")
      if announcesForbiddenBody(head) || !mayKeepConnection, !leaveConnection() { return false }
      endUpload(status: head.status)
      var head = head
      if setup.keepsCookies { head.fields = head.fields.concealingCookies }
      transfer.deliver((head, version))
    case .violation(let detail): return fail(.protocolViolation, detail)
    case .tooLarge(let detail): return fail(.headTooLarge, detail)
    }
    return true
  }

  /// Returns whether the connection has HTTP/2. Only where nobody can tell, the response is believed.
  private func mayShareConnection(_ version: String) -> Bool {
    guard transfer.request.url.scheme == .https, setup.usesHTTP2 else { return false }
    return handle.speaksHTTP2 ?? (version == "2")
  }

  /// Returns whether a response has a body (RFC 9112, section 6.3, items 1 and 2).
  private func mayHaveBody(_ head: HTTPResponseHead) -> Bool {
    transfer.request.method != .head && ![204, 304].contains(head.status)
  }

  /// Returns whether a response that cannot have a body says that one follows (RFC 9110, section 8.6;
  /// RFC 9112, section 6.1). A 304 may say so.
  private func announcesForbiddenBody(_ head: HTTPResponseHead) -> Bool {
    head.status == 204
      && (head.fields.contains("Transfer-Encoding") || head.fields.contentLength ?? 0 > 0)
  }

  private var mayKeepConnection: Bool {
    sharesConnection || sockets.mayKeep(isSecure: transfer.request.url.scheme == .https)
  }

  /// Makes this response the last one of its connection; over HTTP/2, that lasts as long as others use
  /// it.
  private func leaveConnection() -> Bool {
    handle.set(CURLOPT_FORBID_REUSE, 1) || fail(.failed, "libcurl does not take an option")
  }

  /// Stops an upload that was answered with an error, and continues one that waited for a response.
  /// After that the driver looks for the end of the response, see ``mayBeOver``.
  private func endUpload(status: Int) {
    guard let upload = transfer.upload else { return }
    guard status >= 300 else { return upload.serverAnswered() }
    upload.stop()
  }

  func fail(_ code: TransportError.Code, _ detail: String) -> Bool {
    failure = transfer.error(code, detail)
    return false
  }
}

extension Transfer {
  /// Whether the request may be sent again, and its body can be.
  var isRepeatable: Bool { request.method.isIdempotent && upload?.isHeld ?? true }
}
