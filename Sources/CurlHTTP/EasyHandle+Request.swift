import CCurl
import CCurlLibrary
import HTTPSemantics
import HTTPTransports

// What a request and its options mean for libcurl.
extension EasyHandle {
  /// Sets everything that the request and the options ask for.
  ///
  /// - Parameter timeLeft: What is left of the whole timeout; `nil` for all of it.
  /// - Returns: false if libcurl does not take an option, for want of memory for instance.
  func configure(
    _ transfer: Transfer, _ setup: CurlSetup, readBytes: Int, timeLeft: Duration? = nil
  ) -> Bool {
    let request = transfer.request
    var options = transfer.options
    if let timeLeft { options.wholeTimeout = timeLeft }
    return set(CURLOPT_URL, request.url.string) && set(CURLOPT_PATH_AS_IS, 1)
      && set(CURLOPT_HTTP_TRANSFER_DECODING, 0) && set(CURLOPT_HTTP_CONTENT_DECODING, 0)
      && setBody(transfer.upload, readBytes: readBytes) && setMethod(request.method)
      && setFields(transfer, setup) && setTimeouts(options)
      && setTrust(setup, request.url) && setConnection(setup, readBytes: readBytes)
  }

  /// libcurl frames an upload by itself: with a length, or chunked where there is none.
  private func setBody(_ upload: Upload?, readBytes: Int) -> Bool {
    guard let upload, upload.framing != .length(0) else { return true }
    guard set(CURLOPT_UPLOAD, 1), set(CURLOPT_UPLOAD_BUFFERSIZE, max(readBytes, 16 * 1024)) else {
      return false
    }
    guard case .length(let length) = upload.framing else { return true }
    return setOffset(CURLOPT_INFILESIZE_LARGE, Int64(clamping: length))
  }

  /// Must come after the body, as libcurl takes every upload for a `PUT`.
  private func setMethod(_ method: HTTPMethod) -> Bool {
    switch method {
    case .head: set(CURLOPT_NOBODY, 1)
    default: set(CURLOPT_CUSTOMREQUEST, method.rawValue)
    }
  }

  private func setFields(_ transfer: Transfer, _ setup: CurlSetup) -> Bool {
    let request = transfer.request
    // libcurl takes "Name:" as "do not send this one". With the first `Expect` empty it takes no
    // notice of a second one, which it would wait for and repeat a refused request without.
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

  /// libcurl takes "Name;" as a field without a value.
  private static func line(_ field: HTTPField) -> [UInt8] {
    let value = FieldBytes.trimmed(field.value[...])
    return Array(field.name.utf8) + (value.isEmpty ? Array(";".utf8) : Array(": ".utf8) + value)
  }

  /// RFC 9110, section 8.6: a method that expects content says so even if there is none.
  private static func statesNoContent(_ method: HTTPMethod, _ upload: Upload?) -> Bool {
    guard let upload else { return ["POST", "PUT", "PATCH"].contains(method.rawValue) }
    return upload.framing == .length(0)
  }

  private func setTimeouts(_ options: TransportOptions) -> Bool {
    if let connect = options.connectTimeout {
      guard set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(connect)) else { return false }
    }
    if let whole = options.wholeTimeout {
      guard set(CURLOPT_TIMEOUT_MS, Self.milliseconds(whole)) else { return false }
    }
    return true
  }

  private func setConnection(_ setup: CurlSetup, readBytes: Int) -> Bool {
    // Safety: the handle is valid.
    unsafe occurl_set_quick_exit(raw)
    guard unsafe occurl_allow_only_http(raw) == CURLE_OK,
      unsafe occurl_limit_unsent(raw) == CURLE_OK
    else { return false }
    guard setProxy(setup.proxy) else { return false }
    let version = setup.usesHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
    // PIPEWAIT: many requests at once to a new host wait for the first connection to tell whether
    // they can share it, instead of making one each.
    return keepErrorText() && set(CURLOPT_NOSIGNAL, 1)
      && set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      && set(CURLOPT_HTTP_VERSION, Int(version)) && set(CURLOPT_PIPEWAIT, 1)
      && set(CURLOPT_BUFFERSIZE, readBytes)
  }

  private func setProxy(_ proxy: CurlSetup.Proxy) -> Bool {
    switch proxy {
    case .environment: return true
    case .none: return set(CURLOPT_PROXY, "")
    case .url(let url, let except):
      guard set(CURLOPT_PROXY, url) else { return false }
      return except.map { set(CURLOPT_NOPROXY, $0) } ?? true
    }
  }

  /// Returns whole milliseconds, at least 1: for libcurl 0 means no bound.
  private static func milliseconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    let bounded = min(max(seconds, 0), 1_000_000)
    return max(1, Int(bounded) * 1_000 + Int(max(attoseconds, 0) / 1_000_000_000_000_000))
  }
}
