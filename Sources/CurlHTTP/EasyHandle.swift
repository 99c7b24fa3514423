import CCurl
import CCurlLibrary
import CacheSystem

/// One easy handle of libcurl, with the memory that its options point to. Called on the driver
/// thread only.
@safe
final class EasyHandle {
  /// The handle itself; valid as long as this object exists.
  let raw: UnsafeMutableRawPointer

  /// The number of the handle, for tables.
  var id: UInt { unsafe UInt(bitPattern: raw) }

  private var list: UnsafeMutablePointer<curl_slist>?
  private var proxyList: UnsafeMutablePointer<curl_slist>?
  private var resolves: UnsafeMutablePointer<curl_slist>?
  private let errorText: UnsafeMutableBufferPointer<CChar>
  /// The sockets that were opened. The error is ``lookUp`` while a name is being looked up.
  private let opened: UnsafeMutablePointer<occurl_opened>
  /// Notes the end of the connection that is used, if it has TLS of OpenSSL.
  private var closure: OpaquePointer?

  /// Returns `nil` if libcurl has no memory.
  init?() {
    guard let raw = unsafe curl_easy_init() else { return nil }
    unsafe self.raw = raw
    unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errorText.initialize(repeating: 0)
    unsafe opened = .allocate(capacity: 1)
    unsafe opened.initialize(to: occurl_opened())
    // Safety: the handle is valid, and the text outlives it. An old libcurl does not know the option.
    unsafe occurl_set_quick_exit(raw)
    guard unsafe occurl_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText.baseAddress) == CURLE_OK,
      set(CURLOPT_NOSIGNAL, 1), set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    else { return nil }
  }

  deinit {
    // Safety: the driver has removed the handle from its multi handle before releasing this object,
    // so nothing uses the list, the text or the callbacks' context any more.
    unsafe curl_easy_cleanup(raw)
    unsafe curl_slist_free_all(list)
    unsafe curl_slist_free_all(proxyList)
    unsafe curl_slist_free_all(resolves)
    unsafe errorText.deallocate()
    unsafe opened.deallocate()
    unsafe occurl_release_closure(closure)
  }

  /// libcurl's text for the last failure; may be empty.
  var lastErrorText: String {
    // Safety: the buffer has the size that libcurl requires, and libcurl terminates the text with a
    // zero.
    unsafe String(cString: errorText.baseAddress!)
  }

  /// The text of the system for the last connection that could not be made.
  var systemError: String? {
    // Safety: the handle is valid, and the number is initialized.
    let number = unsafe occurl_system_error(raw), ofSocket = unsafe opened.pointee.error
    if number != 0 { return SystemError(number).description }
    return ofSocket <= 0 ? nil : SystemError(ofSocket).description
  }

  private static let lookUp: CInt = -1

  /// Notes that a name is being looked up, until a socket is opened.
  func beginLookUp() { keepSocketError(Self.lookUp) }

  /// Whether a name is being looked up, or could not be found.
  var isLookingUp: Bool {
    // Safety: the number is initialized.
    unsafe opened.pointee.error == Self.lookUp
  }

  /// Makes libcurl open sockets that child processes do not inherit, and keep the error if the system
  /// refuses one.
  func keepSocketError() -> Bool {
    // Safety: the handle is valid; the structure outlives it.
    unsafe occurl_open_sockets(raw, opened) == CURLE_OK
  }

  /// Returns the socket of a connection that was made for this handle; `nil` if that is not certain.
  func socket(between endpoints: IdleSockets.Endpoints) -> curl_socket_t? {
    // Safety: the structure is initialized; the texts are read during the call.
    let socket = unsafe occurl_opened_socket(
      opened, endpoints.here, CInt(endpoints.herePort), endpoints.there, CInt(endpoints.therePort))
    return socket == occurl_socket_bad ? nil : socket
  }

  /// Keeps the error of a socket that a callback of libcurl could not open, or 0.
  func keepSocketError(_ number: CInt) {
    // Safety: the number is initialized.
    unsafe opened.pointee.error = number
  }

  /// The number of connections that were made for the transfer; 0 if a kept one is used.
  var newConnections: Int { number(CURLINFO_NUM_CONNECTS) }

  /// Whether it is certain that TLS has no bytes of the connection that libcurl has not read, or that
  /// there is no TLS.
  var hasNoTLSInput: Bool {
    // Safety: the handle is valid, and its connection is in use.
    unsafe occurl_has_tls_input(raw) == 0
  }

  /// Watches how the server ends the connection that is used.
  func watchClosure() {
    // Safety: the handle is valid, and its connection is in use; the old one is used by nobody else.
    unsafe occurl_release_closure(closure)
    unsafe closure = occurl_closure_of(raw)
  }

  /// Whether the connection has ended without the alert that closes TLS; `false` if it has no TLS of
  /// OpenSSL. Other libraries report that as an error.
  var wasCut: Bool {
    // Safety: it is released with the handle.
    unsafe closure.map { unsafe occurl_is_closed($0) == 0 } ?? false
  }

  /// Whether HTTP/2 was agreed on with TLS; `nil` if nobody can tell.
  var speaksHTTP2: Bool? {
    // Safety: as above.
    let answer = unsafe occurl_speaks_http2(raw)
    return answer < 0 ? nil : answer == 1
  }

  /// The socket of the connection that was made last.
  var activeSocket: curl_socket_t? {
    var socket: curl_socket_t = -1
    // Safety: the handle is valid and the socket is a local.
    guard unsafe occurl_get_socket(raw, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK, socket >= 0
    else { return nil }
    return socket
  }

  /// Sets the only field for a proxy.
  func setProxyLine(_ line: String) -> Bool {
    // Safety: the list is freed after the handle.
    unsafe append(line, to: &proxyList)
      && occurl_set_list(raw, CURLOPT_PROXYHEADER, proxyList) == CURLE_OK
      && set(CURLOPT_HEADEROPT, occurl_header_separate)
  }

  /// Sets addresses that replace those of names (CURLOPT_RESOLVE).
  func setResolves(_ lines: [String]) -> Bool {
    // Safety: the list is freed after the handle.
    unsafe lines.allSatisfy { unsafe append($0, to: &resolves) }
      && (lines.isEmpty || occurl_set_list(raw, CURLOPT_RESOLVE, resolves) == CURLE_OK)
  }

  /// Adds a header line for ``sendLines()``.
  func append(_ line: [UInt8]) -> Bool {
    // Safety: the line is zero-terminated, and has no zero inside (the request was checked).
    unsafe append(line.map { CChar(bitPattern: $0) } + [0], to: &list)
  }

  private func append(
    _ line: UnsafePointer<CChar>, to list: inout UnsafeMutablePointer<curl_slist>?
  ) -> Bool {
    // Safety: libcurl copies the line.
    guard let longer = unsafe curl_slist_append(list, line) else { return false }
    unsafe list = longer
    return true
  }

  /// Makes libcurl send the lines that have been added.
  func sendLines() -> Bool {
    // Safety: the list is freed after the handle.
    unsafe occurl_set_list(raw, CURLOPT_HTTPHEADER, list) == CURLE_OK
  }

  func set(_ option: CURLoption, _ value: Int) -> Bool {
    // Safety: the handle is valid, and the option takes a long.
    unsafe occurl_set_long(raw, option, value) == CURLE_OK
  }

  func setOffset(_ option: CURLoption, _ value: Int64) -> Bool {
    // Safety: the handle is valid, and the option takes a curl_off_t.
    unsafe occurl_set_offset(raw, option, curl_off_t(value)) == CURLE_OK
  }

  func set(_ option: CURLoption, _ value: String) -> Bool {
    // Safety: the handle is valid; libcurl copies the string.
    unsafe occurl_set_string(raw, option, value) == CURLE_OK
  }

  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    // Safety: the handle is valid, the info is a long, and the value is a local.
    guard unsafe occurl_get_long(raw, info, &value) == CURLE_OK else { return 0 }
    return value
  }
}
