/// The method of a request (RFC 9110, section 9); names are case-sensitive.
public struct HTTPMethod: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The name.
  public let rawValue: String

  /// Creates a method from its name; the common ones are constants.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Requests the current representation.
  public static let get = HTTPMethod(rawValue: "GET")
  /// Requests the head of the response that `GET` would get.
  public static let head = HTTPMethod(rawValue: "HEAD")
  /// Requests that the server process the content of the request.
  public static let post = HTTPMethod(rawValue: "POST")

  /// The name.
  public var description: String { rawValue }
}

/// A request without a body: method, target and fields.
public struct HTTPRequest: Sendable, Hashable {
  /// The method.
  public var method: HTTPMethod

  /// The target.
  public var url: NormalizedURL

  /// The fields from the caller; a transport adds its own.
  public var fields: HTTPFields

  /// Creates a request.
  public init(method: HTTPMethod = .get, url: NormalizedURL, fields: HTTPFields = []) {
    self.method = method
    self.url = url
    self.fields = fields
  }

  /// Whether the `Host` of the request is not that of its URL. The server then sees another target than
  /// the URL (RFC 9110, section 7.1). Without a port, it means the default one (section 4.2.3).
  package var namesAnotherHost: Bool {
    guard let stated = fields.first(named: "Host")?.text.lowercased() else { return false }
    if stated == "\(url.host):\(url.port)" { return false }
    return stated != url.host || url.port != url.scheme.defaultPort
  }
}
