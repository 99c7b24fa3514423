/// One challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110, section 11.3).
public struct Challenge: Sendable, Hashable {
  /// The scheme as it was received; schemes are compared without regard to case.
  public let scheme: String

  /// The token that some schemes have in place of parameters, such as `YWJj==`; `nil` if there is
  /// none.
  public let token: String?

  /// The parameters in their order, without quotes and escapes.
  public let parameters: [Parameter]

  /// A parameter of a challenge.
  public struct Parameter: Sendable, Hashable {
    /// The name, in lower case.
    public let name: String
    /// The value; bytes that are not UTF-8 are replaced by U+FFFD.
    public let value: String

    /// Creates a parameter.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Creates a challenge.
  public init(scheme: String, token: String? = nil, parameters: [Parameter] = []) {
    self.scheme = scheme
    self.token = token
    self.parameters = parameters
  }

  /// The maximum number of challenges of one response, and of parameters of one challenge.
  public static let maximumCount = 64

  /// Returns the value of a parameter; the first one if the name is repeated, which the rules
  /// forbid.
  public subscript(name: String) -> String? {
    parameters.first { $0.name == name }?.value
  }

  /// Returns whether the scheme is `name`, without regard to case.
  public func isScheme(_ name: String) -> Bool {
    ASCII.equalsIgnoringCase(scheme, name)
  }

  /// The name of the protection space (RFC 9110, section 11.5); empty if there is none.
  public var realm: String { self["realm"] ?? "" }

  /// Reads all challenges of a field, in their order.
  ///
  /// One line may have several challenges, and the commas between them look like those between
  /// parameters. Each line is read separately. Invalid challenges are skipped, and reading
  /// continues after them.
  ///
  /// - Parameters:
  ///   - fields: The fields of a response.
  ///   - name: `WWW-Authenticate` or `Proxy-Authenticate`.
  /// - Complexity: O(*n*) in the bytes of the field.
  public static func all(
    in fields: HTTPFields, named name: String = "WWW-Authenticate"
  ) -> [Challenge] {
    var challenges: [Challenge] = []
    for field in fields where field.isNamed(name) {
      var parser = ChallengeParser(field.value)
      challenges += parser.challenges()
    }
    return Array(challenges.prefix(maximumCount))
  }
}
