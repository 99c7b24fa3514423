import CCurl
import CCurlLibrary
import HTTPSemantics
import HTTPTransports

// Sets the options of libcurl for a request.
extension EasyHandle {
  /// Sets all options for the request and its transport options, except the idle and the whole
  /// timeout, which the driver checks.
  ///
  /// - Returns: `false` if libcurl refuses an option, for example because it has no memory.
  func configure(_ transfer: Transfer, _ setup: NetworkSetup, readBytes: Int) -> Bool {
    let request = transfer.request
    return set(CURLOPT_URL, request.url.string) && set(CURLOPT_PATH_AS_IS, 1)
      && set(CURLOPT_HTTP_TRANSFER_DECODING, 0) && set(CURLOPT_HTTP_CONTENT_DECODING, 0)
      && setBody(transfer.upload, readBytes: readBytes) && setMethod(request.method)
      && setFields(transfer, setup) && setTimeout(transfer) && setReuse(transfer)
      && setTrust(setup, request.url)
      && setConnection(setup, request.url, readBytes: readBytes)
  }

  /// Sets the body. libcurl frames it itself: with a length, or chunked if there is none.
  private func setBody(_ upload: Upload?, readBytes: Int) -> Bool {
    guard let upload, upload.framing != .length(0) else { return true }
    guard set(CURLOPT_UPLOAD, 1), set(CURLOPT_UPLOAD_BUFFERSIZE, max(readBytes, 16 * 1024)) else {
      return false
    }
    guard case .length(let length) = upload.framing else { return true }
    return setOffset(CURLOPT_INFILESIZE_LARGE, Int64(clamping: length))
  }

  /// Sets the method. Must be called after the body is set, because libcurl makes every upload a
  /// `PUT`.
  private func setMethod(_ method: HTTPMethod) -> Bool {
    switch method {
    case .head: set(CURLOPT_NOBODY, 1)
    default: set(CURLOPT_CUSTOMREQUEST, method.rawValue)
    }
  }

  private func setFields(_ transfer: Transfer, _ setup: NetworkSetup) -> Bool {
    let request = transfer.request
    // For libcurl, "Name:" means that the field is not sent. If the first `Expect` is empty, it
    // ignores a second one. Otherwise it would wait for that one, and repeat a refused request
    // without it.
    var lines = ["Expect:"]
    if !transfer.options.addsDefaultFields, !request.fields.contains("Accept") {
      lines.append("Accept:")
    }
    if !request.fields.contains("Proxy-Connection") { lines.append("Proxy-Connection:") }
    guard lines.allSatisfy({ append(Array($0.utf8)) }) else { return false }
    for field in request.fields
    where !field.isNamed("Content-Length") && !field.isNamed("Transfer-Encoding") {
      guard append(Self.line(field)) else { return false }
    }
    if Self.statesNoContent(request.method, transfer.upload) {
      guard append(Array("Content-Length: 0".utf8)) else { return false }
    }
    guard sendLines() else { return false }
    return !transfer.options.addsDefaultFields || set(CURLOPT_USERAGENT, setup.userAgent)
  }

  /// Returns a field as a line for libcurl, which sends "Name;" as a field without a value.
  private static func line(_ field: HTTPField) -> [UInt8] {
    let value = FieldBytes.trimmed(field.value[...])
    return Array(field.name.utf8) + (value.isEmpty ? Array(";".utf8) : Array(": ".utf8) + value)
  }

  /// Returns whether `Content-Length: 0` must be sent: a method that expects content states a
  /// length even without content (RFC 9110, section 8.6).
  private static func statesNoContent(_ method: HTTPMethod, _ upload: Upload?) -> Bool {
    guard let upload else { return ["POST", "PUT", "PATCH"].contains(method.rawValue) }
    return upload.framing == .length(0)
  }

  /// Sets the time for making a connection, which libcurl divides among the addresses of a host.
  private func setTimeout(_ transfer: Transfer) -> Bool {
    let limits = [transfer.options.connectTimeout, transfer.deadline.map { $0 - .now }]
    guard let limit = limits.compactMap(\.self).min() else { return true }
    return set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(limit))
  }

  /// A request that cannot be sent twice is lost on a kept connection that the server closes at
  /// that moment. Servers close after two seconds or more, so it uses younger ones only.
  private func setReuse(_ transfer: Transfer) -> Bool {
    transfer.isRepeatable || set(CURLOPT_MAXAGE_CONN, 1)
  }

  private func setConnection(
    _ setup: NetworkSetup, _ url: NormalizedURL, readBytes: Int
  ) -> Bool {
    // Safety: the handle is valid.
    guard unsafe occurl_allow_only_http(raw) == CURLE_OK,
      unsafe occurl_limit_unsent(raw) == CURLE_OK,
      unsafe occurl_close_after_excess(raw) == CURLE_OK
    else { return false }
    guard setProxy(setup.proxy), setResolves(setup.resolves) else { return false }
    let mayShare = setup.usesHTTP2 && url.scheme == .https
    let version = mayShare ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
    // PIPEWAIT: several requests to a new host wait until it is known whether they can share the
    // first connection, instead of opening one each. TLS tells with the handshake. Without TLS they
    // would wait for the first answer, so HTTP/2 must not be allowed there.
    return keepSocketError() && set(CURLOPT_HTTP_VERSION, Int(version)) && set(CURLOPT_PIPEWAIT, 1)
      && set(CURLOPT_BUFFERSIZE, readBytes)
  }

  private func setProxy(_ proxy: NetworkSetup.Proxy) -> Bool {
    switch proxy {
    case .environment: return true
    case .none: return set(CURLOPT_PROXY, "")
    case .url(let url, let except):
      guard set(CURLOPT_PROXY, url) else { return false }
      return except.map { set(CURLOPT_NOPROXY, $0) } ?? true
    }
  }

  /// Returns whole milliseconds, at least 1, because for libcurl 0 means no limit.
  static func milliseconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    let bounded = min(max(seconds, 0), 1_000_000)
    return max(1, Int(bounded) * 1_000 + Int(max(attoseconds, 0) / 1_000_000_000_000_000))
  }
}
