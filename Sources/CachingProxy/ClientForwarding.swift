import HTTPSemantics

/// Tells the server behind a reverse proxy which client asked, and under which address: in `Forwarded`
/// (RFC 7239) and its older relatives, `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`.
struct ClientForwarding: Sendable, Hashable {
  /// Whether clients may tell that themselves: they are proxies, too, and none of them lies.
  let trustsClients: Bool

  /// Removes what a client claims, unless clients are trusted.
  ///
  /// An underscore counts as a hyphen: many servers give their programs both by the same name.
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

  /// Returns a request as the origin gets it.
  ///
  /// - Parameters:
  ///   - client: the numeric address; empty where there is none.
  ///   - authority: the host and port that the client asked for; nil where nobody has checked it: an origin
  ///     that makes links of it would have them stored for all clients.
  func request(_ request: HTTPRequest, from client: String, for authority: String?) -> HTTPRequest {
    var request = request
    add("Forwarded", Self.element(client, authority), to: &request.fields)
    if !client.isEmpty { add("X-Forwarded-For", client, to: &request.fields) }
    // These tell of the first hop alone.
    if !request.fields.contains("X-Forwarded-Proto") {
      request.fields.append(HTTPField("X-Forwarded-Proto", "http"))
    }
    if let authority, !request.fields.contains("X-Forwarded-Host") {
      request.fields.append(HTTPField("X-Forwarded-Host", authority))
    }
    return request
  }

  /// Adds a member to a list that proxies before this one may have begun.
  private func add(_ name: String, _ member: String, to fields: inout HTTPFields) {
    let list = fields.combinedValue(of: name).map { $0 + Array(", ".utf8) } ?? []
    fields.replace(with: HTTPField(name: name, value: list + Array(member.utf8)))
  }

  /// Returns the element of `Forwarded` for this hop (RFC 7239, section 4).
  private static func element(_ client: String, _ authority: String?) -> String {
    let node =
      client.isEmpty ? "unknown" : client.contains(":") ? "\"[\(client)]\"" : client
    let host = authority.map { ";host=\"\($0)\"" } ?? ""
    return "for=\(node)\(host);proto=http"
  }

  /// Returns the beginning of the URLs under which the client reaches this server, such as
  /// `http://localhost:8080`; empty where nobody knows.
  ///
  /// - Parameter fields: those of the request; a client that is trusted tells what its own clients see.
  func address(for authority: String?, _ fields: HTTPFields) -> String {
    guard trustsClients else { return authority.map { "http://\($0)" } ?? "" }
    guard let authority = Self.first("X-Forwarded-Host", fields) ?? authority,
      RequestHead.isAuthority(Array(authority.utf8))
    else { return "" }
    let scheme = Self.first("X-Forwarded-Proto", fields).flatMap {
      NormalizedURL.Scheme(rawValue: $0.lowercased())
    }
    return "\((scheme ?? .http).rawValue)://\(authority)"
  }

  /// The first member of a list, which the proxy next to the user has written.
  private static func first(_ name: String, _ fields: HTTPFields) -> String? {
    fields.first(named: name)?.text.split(separator: ",").first.map { member in
      String(member.drop { $0 == " " }.prefix { $0 != " " })
    }
  }
}
