import CCurl
import CCurlLibrary
import HTTPSemantics
import HTTPTransport

/// Takes libcurl's callbacks for one transfer. Used on the loop's thread only.
final class RunningTransfer {
  let transfer: Transfer
  let handle: EasyHandle

  /// Tells when the server was last heard of; nil while there is no connection yet, whose making
  /// the connect timeout bounds.
  private(set) var lastActivity: ContinuousClock.Instant?
  private(set) var isPaused = false

  private let isRaw: Bool
  private var parser: HeadParser
  private var hasHead = false
  /// Tells whether a redirect has come and the request that it leads to is not yet on its way.
  private var isRedirecting = false
  private var failure: TransportError?

  init(_ transfer: Transfer, _ handle: EasyHandle) {
    self.transfer = transfer
    self.handle = handle
    isRaw = handle.isRaw(transfer.request, transfer.options)
    let follows = transfer.options.followedRedirects(for: transfer.request.method) != nil
    parser = HeadParser(followsRedirects: follows)
  }

  /// Has libcurl call this object, which must outlive the handle's time in the multi handle.
  func installCallbacks() -> Bool {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    // Safety: the driver keeps this object until the handle is out of the multi handle. libcurl
    // passes `size * count` valid bytes, and size is always 1.
    let didWrite = unsafe occurl_set_write_callback(
      handle.raw,
      { bytes, size, count, context in
        guard let context = unsafe context else { return 0 }
        let running = unsafe Unmanaged<RunningTransfer>.fromOpaque(context).takeUnretainedValue()
        return unsafe running.receive(
          UnsafeRawBufferPointer(start: bytes, count: size * count))
      }, context)
    let didHeader = unsafe occurl_set_header_callback(
      handle.raw,
      { bytes, size, count, context in
        guard let context = unsafe context else { return 0 }
        let running = unsafe Unmanaged<RunningTransfer>.fromOpaque(context).takeUnretainedValue()
        return unsafe running.receiveLine(
          UnsafeRawBufferPointer(start: bytes, count: size * count))
      }, context)
    let didConnected = unsafe occurl_set_connected_callback(
      handle.raw,
      { context, _, _, _, _ in
        guard let context = unsafe context else { return 0 }
        unsafe Unmanaged<RunningTransfer>.fromOpaque(context).takeUnretainedValue().connected()
        return 0
      }, context)
    return didWrite == CURLE_OK && didHeader == CURLE_OK
      && (didConnected == CURLE_OK || didConnected == CURLE_UNKNOWN_OPTION)
  }

  /// Returns when the idle timeout passes; nil: not now.
  var idleDeadline: ContinuousClock.Instant? {
    guard let lastActivity, let timeout = transfer.options.idleTimeout, !isPaused else {
      return nil
    }
    return lastActivity + max(timeout, .milliseconds(1))
  }

  /// Lets libcurl go on after a pause; it may call back before this returns.
  func resume() {
    guard isPaused else { return }
    isPaused = false
    lastActivity = .now
    // Safety: the handle is valid. A failure shows as the end of the transfer.
    _ = unsafe curl_easy_pause(handle.raw, occurl_pause_continue)
  }

  /// Translates libcurl's verdict into the end of the transfer.
  func outcome(of code: CURLcode) -> Transfer.Outcome<HTTPFields> {
    if let failure { return .failure(failure) }
    guard code == CURLE_OK else {
      return .failure(
        transfer.error(
          CurlFailure.code(of: code, hasHead: hasHead, isRedirecting: isRedirecting),
          CurlFailure.detail(of: code, text: handle.lastErrorText)))
    }
    // libcurl takes a connection that closes within the head for an answer without a body.
    guard hasHead else {
      return .failure(transfer.error(.connectionLost, "the head is incomplete"))
    }
    return .success(parser.trailers)
  }

  private func connected() {
    lastActivity = .now
    isRedirecting = false
  }

  /// - Returns: the number of bytes taken, or libcurl's sign for a pause.
  private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard unsafe !bytes.isEmpty else { return 0 }
    lastActivity = .now
    // Safety: the buffer is valid until this callback returns.
    guard unsafe transfer.accept(bytes) else {
      isPaused = true
      return Int(occurl_write_pause)
    }
    return bytes.count
  }

  /// - Returns: the number of bytes taken, or 0 to have libcurl stop.
  private func receiveLine(_ bytes: UnsafeRawBufferPointer) -> Int {
    lastActivity = .now
    // Safety: the buffer is valid until this callback returns; it is copied.
    let line = unsafe Array(bytes)
    switch parser.consume(line) {
    case .none: return bytes.count
    case .redirect:
      isRedirecting = true
      return bytes.count
    case .head(let head, let version):
      hasHead = true
      transfer.deliver(self.head(head, version))
      return bytes.count
    case .violation(let detail):
      failure = transfer.error(.protocolViolation, detail)
      return 0
    }
  }

  private func head(_ head: HTTPResponseHead, _ version: String) -> TransportHead {
    let codings = head.fields.all(named: "Content-Encoding").filter {
      !["", "identity"].contains($0.text.lowercased())
    }
    let url = handle.effectiveURL.flatMap { try? NormalizedURL($0) }
    return TransportHead(
      head: head, url: url ?? transfer.request.url, version: version,
      isDecoded: !isRaw && !codings.isEmpty && transfer.request.method != .head)
  }
}
