import HTTPSemantics
import HTTPTransports

// Checks the identity of the server.
extension RunningTransfer {
  /// Whether the server has to be checked. libcurl before 7.80 has no callback for that.
  var needsConnectedCallback: Bool { pins != nil }

  /// Returns whether the server on the connection, new or kept, matches a pin of its host.
  func isPinned() -> Bool {
    guard let pins else { return true }
    let host = transfer.request.url.host
    guard transfer.request.url.scheme == .https else {
      return fail(.pinMismatch, "\(host) has pins, and http has no certificate to compare")
    }
    guard let (key, certificate) = handle.serverPins() else {
      return fail(.pinMismatch, "this libcurl does not provide the certificate of \(host)")
    }
    if pins.contains(key) || pins.contains(certificate) { return true }
    return fail(
      .pinMismatch, "\(host) has the key \(key) and the certificate \(certificate)")
  }
}
