/// Holds one challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110, section 11.3).
public struct Challenge: Sendable, Hashable {
  /// Gives the scheme as it was written; schemes are equal without regard to case.
  public let scheme: String

  /// Gives what some schemes have in place of parameters, such as `YWJj==`; nil: there is none.
  public let token: String?

  /// Gives the parameters in their order, quotes and escapes taken off; names are in lower case.
  public let parameters: [Parameter]

  /// Holds a parameter.
  public struct Parameter: Sendable, Hashable {
    /// Gives the name, in lower case.
    public let name: String
    /// Gives the value; what is no UTF-8 is replaced by U+FFFD.
    public let value: String

    /// Makes a parameter.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Makes a challenge.
  public init(scheme: String, token: String? = nil, parameters: [Parameter] = []) {
    self.scheme = scheme
    self.token = token
    self.parameters = parameters
  }

  /// The most challenges that are taken of one answer, and the most parameters of one challenge.
  public static let maximumCount = 64

  /// Gives the value of a parameter; the first one where the name is repeated, against the rules.
  public subscript(name: String) -> String? {
    parameters.first { $0.name == name }?.value
  }

  /// Tells whether the scheme is this one, without regard to the case of letters.
  public func isScheme(_ name: String) -> Bool {
    ASCII.equalsIgnoringCase(scheme, name)
  }

  /// Gives the protection space's name (RFC 9110, section 11.5); empty where there is none.
  public var realm: String { self["realm"] ?? "" }

  /// Reads all challenges of a field, in their order.
  ///
  /// Several may stand in one line, and their commas look like those between parameters; each line is
  /// read by itself. What is no challenge is left out, and what follows it is read nevertheless.
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
