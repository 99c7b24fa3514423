/// Names what a request asks for (RFC 9110, section 9); names are case-sensitive.
public struct HTTPMethod: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// Gives the name.
  public let rawValue: String

  /// Makes a name; see the constants for those that are in use.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Asks for the current representation.
  public static let get = HTTPMethod(rawValue: "GET")
  /// Asks for the head that `GET` would get.
  public static let head = HTTPMethod(rawValue: "HEAD")
  /// Asks to process the content of the request.
  public static let post = HTTPMethod(rawValue: "POST")

  /// Gives the name.
  public var description: String { rawValue }
}

/// Holds a request without a body: what, where, and the fields that go with it.
public struct HTTPRequest: Sendable, Hashable {
  /// Gives the method.
  public var method: HTTPMethod

  /// Gives the target.
  public var url: NormalizedURL

  /// Gives the fields that the caller adds to those that a transport sends by itself.
  public var fields: HTTPFields

  /// Makes a request.
  public init(method: HTTPMethod = .get, url: NormalizedURL, fields: HTTPFields = []) {
    self.method = method
    self.url = url
    self.fields = fields
  }
}
