import CCurl
import CCurlLibrary
import HTTPSemantics
import HTTPTransport

/// Owns one easy handle of libcurl with what its options point to. Used on the loop's thread only.
@safe
final class EasyHandle {
  /// The handle itself; valid as long as this object.
  let raw: UnsafeMutableRawPointer

  /// Names the handle without a pointer.
  var id: UInt { unsafe UInt(bitPattern: raw) }

  private var list: UnsafeMutablePointer<curl_slist>?
  private let errorText: UnsafeMutableBufferPointer<CChar>

  init?() {
    guard let raw = unsafe curl_easy_init() else { return nil }
    unsafe self.raw = raw
    unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errorText.initialize(repeating: 0)
  }

  deinit {
    // Safety: the loop has taken the handle out of its multi handle before it lets go of it, so
    // nothing uses the list, the text or the callbacks' context any more.
    unsafe curl_easy_cleanup(raw)
    unsafe curl_slist_free_all(list)
    unsafe errorText.deallocate()
  }

  /// Gives libcurl's words for the last failure; may be empty.
  var lastErrorText: String {
    // Safety: the buffer is as large as libcurl asks for, and zero-terminated by it.
    unsafe String(cString: errorText.baseAddress!)
  }

  /// Gives the URL of the last redirect, as libcurl has it.
  var effectiveURL: String? {
    var text: UnsafePointer<CChar>?
    // Safety: the string lives as long as the handle; it is copied here.
    guard unsafe occurl_get_string(raw, CURLINFO_EFFECTIVE_URL, &text) == CURLE_OK,
      let text = unsafe text
    else { return nil }
    return unsafe String(cString: text)
  }

  /// Sets everything that the request and the options ask for.
  ///
  /// - Returns: false if libcurl does not take an option, for want of memory for instance.
  func configure(_ request: HTTPRequest, _ options: TransportOptions, _ setup: CurlSetup) -> Bool {
    set(CURLOPT_URL, request.url.string) && setMethod(request.method)
      && setFields(request, isRaw: isRaw(request, options)) && setTimeouts(options)
      && setRedirects(request, options) && setConnection(setup)
  }

  /// Tells whether the body is handed over as it is on the wire.
  func isRaw(_ request: HTTPRequest, _ options: TransportOptions) -> Bool {
    options.rawBody || request.fields.contains("Range")
      || request.fields.contains("Accept-Encoding")
  }

  private func setMethod(_ method: HTTPMethod) -> Bool {
    switch method {
    case .get: set(CURLOPT_HTTPGET, 1)
    case .head: set(CURLOPT_NOBODY, 1)
    default: set(CURLOPT_CUSTOMREQUEST, method.rawValue)
    }
  }

  private func setFields(_ request: HTTPRequest, isRaw: Bool) -> Bool {
    for field in request.fields {
      // libcurl takes "Name:" as "do not send this one" and "Name;" as a field without a value.
      let line =
        field.value.isEmpty
        ? Array("\(field.name);".utf8) : Array("\(field.name): ".utf8) + field.value
      guard append(line) else { return false }
    }
    if ["POST", "PUT", "PATCH"].contains(request.method.rawValue) {
      // RFC 9110, section 8.6: a method that expects content says so even if there is none.
      guard append(Array("Content-Length: 0".utf8)) else { return false }
    }
    // Safety: the list is freed after the handle.
    guard unsafe occurl_set_list(raw, CURLOPT_HTTPHEADER, list) == CURLE_OK else { return false }
    // The empty string means every coding that this libcurl can take off.
    return isRaw || set(CURLOPT_ACCEPT_ENCODING, "")
  }

  private func append(_ line: [UInt8]) -> Bool {
    let terminated = line.map { CChar(bitPattern: $0) } + [0]
    // Safety: the line is zero-terminated, has no zero inside (the request was checked), and is
    // copied by libcurl.
    guard let longer = unsafe curl_slist_append(list, terminated) else { return false }
    unsafe list = longer
    return true
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

  private func setRedirects(_ request: HTTPRequest, _ options: TransportOptions) -> Bool {
    // Safety: the handle is valid.
    guard unsafe occurl_allow_only_http(raw) == CURLE_OK else { return false }
    guard let maximum = options.followedRedirects(for: request.method) else {
      return set(CURLOPT_FOLLOWLOCATION, 0)
    }
    return set(CURLOPT_FOLLOWLOCATION, 1) && set(CURLOPT_MAXREDIRS, maximum)
  }

  private func setConnection(_ setup: CurlSetup) -> Bool {
    // Safety: the handle is valid; the error text outlives it.
    unsafe occurl_set_quick_exit(raw)
    let hasErrorText =
      unsafe occurl_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText.baseAddress) == CURLE_OK
    if let file = setup.certificateAuthoritiesFile {
      guard set(CURLOPT_CAINFO, file) else { return false }
    }
    if setup.proxy == .none {
      guard set(CURLOPT_PROXY, "") else { return false }
    }
    let version = setup.usesHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
    // PIPEWAIT: many requests at once to a new host wait for the first connection to tell whether
    // they can share it, instead of making one each.
    return hasErrorText && set(CURLOPT_NOSIGNAL, 1) && set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      && set(CURLOPT_HTTP_VERSION, version) && set(CURLOPT_PIPEWAIT, 1)
      && set(CURLOPT_BUFFERSIZE, setup.readBytes) && set(CURLOPT_USERAGENT, setup.userAgent)
  }

  private func set(_ option: CURLoption, _ value: Int) -> Bool {
    // Safety: the handle is valid, and the option takes a long.
    unsafe occurl_set_long(raw, option, value) == CURLE_OK
  }

  private func set(_ option: CURLoption, _ value: String) -> Bool {
    // Safety: the handle is valid; libcurl copies the string.
    unsafe occurl_set_string(raw, option, value) == CURLE_OK
  }

  /// Returns whole milliseconds, at least 1: for libcurl 0 means no bound.
  private static func milliseconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    let bounded = min(max(seconds, 0), 1_000_000)
    return max(1, Int(bounded) * 1_000 + Int(max(attoseconds, 0) / 1_000_000_000_000_000))
  }
}

extension TransportOptions {
  /// Returns how many redirects are followed for a method; nil: they are handed to the caller.
  func followedRedirects(for method: HTTPMethod) -> Int? {
    guard case .followed(let maximum) = redirects, method == .get || method == .head else {
      return nil
    }
    return max(0, maximum)
  }
}
