import HTTPSemantics

/// Adds the address of the client, and the address that it used, for the server behind a reverse
/// proxy: in `Forwarded` (RFC 7239) and the older fields `X-Forwarded-For`, `X-Forwarded-Proto` and
/// `X-Forwarded-Host`.
struct ClientForwarding: Sendable, Hashable {
  /// Whether these fields of clients are trusted, because all clients are trusted proxies.
  let trustsClients: Bool
  var scheme = NormalizedURL.Scheme.http

  /// Removes these fields of a client, unless clients are trusted.
  ///
  /// An underscore counts as a hyphen, because many servers pass both to their programs under the
  /// same name.
  func clean(_ fields: inout HTTPFields) {
    guard !trustsClients else { return }
    for field in fields where Self.isForwarding(field.name) {
      fields.removeAll(named: field.name)
    }
  }

  private static func isForwarding(_ name: String) -> Bool {
    guard let initial = name.utf8.first, [0x46, 0x66, 0x58, 0x78].contains(initial) else {
      return false
    }
    let name = name.utf8.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      case UInt8(ascii: "_"): UInt8(ascii: "-")
      default: byte
      }
    }
    return name == Array("forwarded".utf8) || name == Array("x-real-ip".utf8)
      || name.starts(with: "x-forwarded-".utf8)
  }

  /// Returns a request for the origin.
  ///
  /// - Parameters:
  ///   - client: The numeric address; empty if there is none.
  ///   - authority: The host and port that the client asked for, or `nil` if they have not been
  ///     checked: if an origin made links of them, those would be stored for all clients.
  func request(_ request: HTTPRequest, from client: String, for authority: String?) -> HTTPRequest {
    var request = request
    add("Forwarded", element(client, authority), to: &request.fields)
    if !client.isEmpty { add("X-Forwarded-For", client, to: &request.fields) }
    // These fields describe only the first hop.
    if !request.fields.contains("X-Forwarded-Proto") {
      request.fields.append(HTTPField("X-Forwarded-Proto", scheme.rawValue))
    }
    if let authority, !request.fields.contains("X-Forwarded-Host") {
      request.fields.append(HTTPField("X-Forwarded-Host", authority))
    }
    return request
  }

  /// Adds a member to a list that previous proxies may have begun.
  private func add(_ name: String, _ member: String, to fields: inout HTTPFields) {
    let list = fields.combinedValue(of: name).map { $0 + Array(", ".utf8) } ?? []
    fields.replace(with: HTTPField(name: name, value: list + Array(member.utf8)))
  }

  /// Returns the element of `Forwarded` for this hop (RFC 7239, section 4).
  private func element(_ client: String, _ authority: String?) -> String {
    let node = client.isEmpty ? "unknown" : client.contains(":") ? "\"[\(client)]\"" : client
    let host = authority.map { ";host=\"\($0)\"" } ?? ""
    return "for=\(node)\(host);proto=\(scheme.rawValue)"
  }

  /// Returns the beginning of the URLs under which the client reaches this server, such as
  /// `http://localhost:8080`; empty if that is not known.
  ///
  /// - Parameter fields: The fields of the request. Those of a trusted client have the address that
  ///   its own clients see.
  func address(for authority: String?, _ fields: HTTPFields) -> String {
    guard trustsClients else { return authority.map { "\(self.scheme.rawValue)://\($0)" } ?? "" }
    guard let authority = Self.first("X-Forwarded-Host", fields) ?? authority,
      RequestHead.isAuthority(Array(authority.utf8))
    else { return "" }
    let scheme = Self.first("X-Forwarded-Proto", fields).flatMap {
      NormalizedURL.Scheme(rawValue: $0.lowercased())
    }
    return "\((scheme ?? self.scheme).rawValue)://\(authority)"
  }

  /// Returns the first member of a list, which the proxy next to the user has written.
  private static func first(_ name: String, _ fields: HTTPFields) -> String? {
    fields.first(named: name)?.text.split(separator: ",").first.map { member in
      String(member.drop { $0 == " " }.prefix { $0 != " " })
    }
  }
}
