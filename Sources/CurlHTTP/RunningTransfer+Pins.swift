import HTTPSemantics
import HTTPTransports

// Whether the server is the one that it has to be.
extension RunningTransfer {
  /// Tells whether the server is to be looked at, which a libcurl before 7.80 gives no moment for.
  var needsConnectedCallback: Bool { pins != nil }

  /// Tells whether the server on the connection, new or kept, is one that is pinned for its host.
  func isPinned() -> Bool {
    guard let pins else { return true }
    let host = transfer.request.url.host
    guard transfer.request.url.scheme == .https else {
      return fail(.pinMismatch, "\(host) has pins, and http shows nothing to hold them against")
    }
    guard let (key, certificate) = handle.serverPins() else {
      return fail(.pinMismatch, "the certificate of \(host) cannot be had from this libcurl")
    }
    if pins.contains(key) || pins.contains(certificate) { return true }
    return fail(
      .pinMismatch, "\(host) has the key \(key) and the certificate \(certificate)")
  }
}
