import CCurl
import CCurlLibrary
import CLibrary
import CacheSystem
import HTTPSemantics
import HTTPTransports

/// Makes one connection with libcurl (CURLOPT_CONNECT_ONLY), on a thread that may wait. libcurl
/// handles proxies, `--resolve`, and addresses of both families. Each address is checked before the
/// connection is made to just that one.
final class ConnectHandle {
  private let target: TunnelTarget
  private let scheme: NormalizedURL.Scheme
  private let setup: NetworkSetup
  private let lookUps: NameLookUps
  private let handle: EasyHandle
  private let proxy: TunnelProxy
  private let deadline: ContinuousClock.Instant
  private let pins: Set<Pin>?
  private let isCancelled: () -> Bool
  /// Whether an address was refused.
  private var hasRefused = false
  /// Whether the look-up of the name was refused.
  private var hasRefusedLookUp = false
  /// Whether the server has none of the pins of its host.
  private var isUnpinned = false

  /// Prepares a connection. While it is made, `isCancelled` is called about once a second.
  ///
  /// - Throws: ``TransportError/Code/failed`` if libcurl refuses an option.
  init(
    _ target: TunnelTarget, scheme: NormalizedURL.Scheme, _ setup: NetworkSetup,
    _ lookUps: NameLookUps, _ deadline: ContinuousClock.Instant,
    isCancelled: @escaping () -> Bool = { false }
  ) throws(TransportError) {
    guard let handle = EasyHandle() else {
      throw TransportError(.failed, url: target.authority, detail: "libcurl has no memory")
    }
    self.target = target
    self.scheme = scheme
    self.setup = setup
    self.lookUps = lookUps
    self.handle = handle
    self.deadline = deadline
    self.isCancelled = isCancelled
    proxy = TunnelProxy(setup.proxy)
    pins = scheme == .https ? setup.pins(of: target.host) : nil
    guard configure() else {
      throw TransportError(
        .failed, url: target.authority, detail: "libcurl does not take an option")
    }
  }

  func connect() throws(TransportError) -> any TunnelEnd {
    let left = deadline - .now
    guard left > .zero else { throw error(.timeout, "no thread became free in time") }
    if proxy.isUsed, let address = IPAddress(target.host), !target.allows(address, target.port) {
      throw error(.forbiddenAddress)
    }
    guard handle.set(CURLOPT_CONNECTTIMEOUT_MS, EasyHandle.milliseconds(left)) else {
      throw error(.failed)
    }
    let begin = ContinuousClock.now
    // Safety: the handle is valid; its callback uses this object, which waits here.
    let code = unsafe curl_easy_perform(handle.raw)
    guard code == CURLE_OK else {
      if hasRefused { throw error(.forbiddenAddress) }
      if isUnpinned { throw error(.pinMismatch) }
      if hasRefusedLookUp { throw error(.cannotResolve, NameLookUps.refusal) }
      let isEarly = code == CURLE_OPERATION_TIMEDOUT || code == CURLE_ABORTED_BY_CALLBACK
      if isEarly, handle.isLookingUp { lookUps.abandon(at: .now, begin: begin) }
      if isCancelled() { throw error(.cancelled) }
      throw error(
        CurlFailure.code(of: code, hasHead: false),
        CurlFailure.detail(of: code, on: handle))
    }
    return try end()
  }

  /// Returns the connection: its socket alone, or with libcurl if that encrypts.
  private func end() throws(TransportError) -> any TunnelEnd {
    guard let socket = handle.activeSocket else { throw error(.failed, "there is no socket") }
    if scheme == .https || proxy.isEncrypted { return CurlEnd(handle, socket) }
    let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw error(.failed, "too many open files") }
    return SocketEnd(copy)
  }

  private func error(_ code: TransportError.Code, _ detail: String = "") -> TransportError {
    TransportError(code, url: target.authority, detail: detail)
  }

  private func configure() -> Bool {
    let address = "\(scheme.rawValue)://\(target.authority)/"
    guard let url = try? NormalizedURL(address) else { return false }
    return handle.set(CURLOPT_URL, address) && handle.set(CURLOPT_CONNECT_ONLY, 1)
      && handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
      // A server of HTTP/2 alone cannot switch protocols.
      && handle.set(CURLOPT_SSL_ENABLE_ALPN, 0)
      && handle.setResolves(setup.resolves) && handle.setTrust(setup, url)
      && setProxy(setup.proxy) && installLookUp() && installOpening() && installConnected()
      && installCancellation()
  }

  private func setProxy(_ setting: NetworkSetup.Proxy) -> Bool {
    guard let url = proxy.url else { return handle.set(CURLOPT_PROXY, "") }
    guard handle.set(CURLOPT_PROXY, url), handle.set(CURLOPT_HTTPPROXYTUNNEL, 1),
      handle.setProxyLine("Via: \(target.via)")
    else { return false }
    // Where addresses are checked, every tunnel goes through the proxy: an exception would lead to
    // an address that nobody checks.
    guard case .url(_, let except?) = setting else { return handle.set(CURLOPT_NOPROXY, "") }
    return handle.set(CURLOPT_NOPROXY, except)
  }

  private func installLookUp() -> Bool {
    // Safety: the callback is called during connect(), which holds the object.
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let code = unsafe occurl_set_look_up_callback(
      handle.raw,
      { _, _, context in
        unsafe ConnectHandle.from(context)?.mayLookUp() == true ? 0 : 1
      }, context)
    return code == CURLE_OK
  }

  private func mayLookUp() -> Bool {
    hasRefusedLookUp = !lookUps.mayBegin(for: target.host, setup, on: handle)
    return !hasRefusedLookUp
  }

  /// Makes libcurl ask before it connects to an address.
  private func installOpening() -> Bool {
    // Safety: as above.
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let code = unsafe occurl_set_open_callback(
      handle.raw,
      { context, _, address in
        guard let address = unsafe address else { return occurl_socket_bad }
        return unsafe ConnectHandle.from(context)?.open(address) ?? occurl_socket_bad
      }, context)
    return code == CURLE_OK
  }

  /// Makes libcurl ask when the connection stands, if there are pins.
  private func installConnected() -> Bool {
    guard pins != nil else { return true }
    // Safety: as above.
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let code = unsafe occurl_set_connected_callback(
      handle.raw,
      { context, _, _, _, _ in
        unsafe ConnectHandle.from(context)?.isPinned() == true
          ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      }, context)
    return code == CURLE_OK
  }

  /// Makes libcurl ask whether the connection is still wanted.
  private func installCancellation() -> Bool {
    // Safety: as above.
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let code = unsafe occurl_set_progress_callback(
      handle.raw,
      { context, _, _, _, _ in
        unsafe ConnectHandle.from(context)?.isCancelled() == false ? 0 : 1
      }, context)
    return code == CURLE_OK
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> ConnectHandle? {
    unsafe context.map { unsafe Unmanaged<ConnectHandle>.fromOpaque($0).takeUnretainedValue() }
  }

  private func isPinned() -> Bool {
    guard let pins, let (key, certificate) = handle.serverPins(),
      pins.contains(key) || pins.contains(certificate)
    else {
      isUnpinned = true
      return false
    }
    return true
  }

  private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    // Safety: libcurl's address begins at `addr` and has `addrlen` bytes.
    let info = unsafe address.pointee
    let place = unsafe UnsafeRawPointer(address).advanced(
      by: MemoryLayout<curl_sockaddr>.offset(of: \.addr)!
    )
    guard let (ip, port) = unsafe IPAddress.of(place, length: Int(info.addrlen)) else {
      return occurl_socket_bad
    }
    // A proxy is connected to because the user of the command line wants it.
    guard proxy.isUsed || target.allows(ip, port) else {
      hasRefused = true
      return occurl_socket_bad
    }
    let descriptor = socket(info.family, info.socktype, info.protocol)
    handle.keepSocketError(descriptor < 0 ? errno : 0)
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return descriptor
  }
}

/// The proxy for tunnels. libcurl would choose it by the scheme of the URL, and tunnels have none.
struct TunnelProxy: Hashable {
  /// Its URL; `nil` if there is none.
  let url: String?

  init(_ setting: NetworkSetup.Proxy, variable: (String) -> String? = UserPath.environment) {
    switch setting {
    case .none: url = nil
    // libcurl takes an empty text for none, and then the addresses of servers have to be checked.
    case .url(let text, _): url = text.isEmpty ? nil : text
    case .environment:
      let names = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
      url = names.lazy.compactMap(variable).first { !$0.isEmpty }
    }
  }

  var isUsed: Bool { url != nil }
  /// Whether libcurl has to encrypt what goes to the proxy.
  var isEncrypted: Bool { url?.lowercased().hasPrefix("https:") ?? false }
}
