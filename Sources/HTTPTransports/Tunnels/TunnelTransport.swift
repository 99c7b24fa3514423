package import HTTPSemantics

/// Opens connections that carry the bytes of any protocol.
package protocol TunnelTransport: Sendable {
  /// Connects to a host.
  ///
  /// - Throws: ``TransportError``; ``TransportError/Code/forbiddenAddress`` if the host has only
  ///   addresses that the target does not allow.
  func connect(to target: TunnelTarget) async throws(TransportError) -> any TunnelEnd

  /// Sends a request that asks for another protocol (RFC 9110, section 7.8), on a connection of its
  /// own.
  ///
  /// - Parameters:
  ///   - request: A request without content. `Upgrade` is among its fields, `Connection` is not.
  ///   - target: The server of the request's URL.
  /// - Throws: ``TransportError``, like ``connect(to:)``.
  func upgrade(
    _ request: HTTPRequest, to target: TunnelTarget
  ) async throws(TransportError) -> UpgradeAnswer
}

/// The answer to a request that asked for another protocol.
package enum UpgradeAnswer: Sendable {
  /// The protocols were switched (101). `first` has the bytes that the server has sent since.
  case switched(HTTPResponseHead, server: any TunnelEnd, first: [UInt8])
  /// The server has refused or redirected the request, with this body.
  case answered(HTTPResponseHead, body: [UInt8])
  /// The server has ignored the wish, and answers by HTTP with content (2xx), which is not read: it may be
  /// of any length, and may be stored, so the request is sent again without the wish.
  case ignored
}

package struct TunnelTarget: Sendable {
  /// The name or numeric address, in lower case; an IPv6 address with its brackets.
  package let host: String
  package let port: UInt16
  /// The value of `Via` for another proxy on the way.
  package let via: String
  /// Whether a tunnel may lead to an address and port. It is asked for exactly the address that is
  /// connected to next, so a name that changes its address gains nothing.
  package let allows: @Sendable (IPAddress, UInt16) -> Bool

  package init(
    host: String, port: UInt16, via: String,
    allows: @escaping @Sendable (IPAddress, UInt16) -> Bool = { _, _ in true }
  ) {
    self.host = host
    self.port = port
    self.via = via
    self.allows = allows
  }

  /// The host and port, as in the target of `CONNECT`.
  package var authority: String { "\(host):\(port)" }
}

extension TransportError.Code {
  /// A tunnel must not lead to the address.
  package static let forbiddenAddress = TransportError.Code(rawValue: "forbiddenAddress")
}
