/// The reason why a remote tier cannot be set up, or why a purge was not carried out.
public struct RemoteCacheError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The cause; later versions may add causes.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The name.
    public let rawValue: String

    /// Creates a cause from its name; the known ones are constants.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The text is no URL of `http` or `https`.
    public static let invalidURL = Code(rawValue: "invalidURL")
    /// The URL contains a user or a password.
    public static let credentialsInURL = Code(rawValue: "credentialsInURL")
    /// The URL has a query or a fragment.
    public static let queryInURL = Code(rawValue: "queryInURL")
    /// The namespace is empty, longer than 128 bytes, or has a character that is not allowed.
    public static let invalidNamespace = Code(rawValue: "invalidNamespace")
    /// The secret is empty, or shorter than 16 bytes.
    public static let weakSecret = Code(rawValue: "weakSecret")
    /// A user, password, token or key contains a character that cannot be sent.
    public static let invalidCredential = Code(rawValue: "invalidCredential")
    /// There is no server, or one twice, or more than 64.
    public static let invalidServers = Code(rawValue: "invalidServers")
    /// The tier may only read.
    public static let readOnly = Code(rawValue: "readOnly")
    /// A server did not take the purge list, or another list replaced it again and again.
    public static let purgeFailed = Code(rawValue: "purgeFailed")
  }

  /// The cause.
  public let code: Code
  /// The part that is wrong: a URL without credentials, a namespace; never a secret.
  public let subject: String
  /// The problem, in a few words.
  public let problem: String
  /// What to do.
  public let remedy: String

  /// Creates an error.
  public init(_ code: Code, _ subject: String, problem: String, remedy: String) {
    self.code = code
    self.subject = subject
    self.problem = problem
    self.remedy = remedy
  }

  /// The part, the problem and what to do.
  public var description: String { "\(subject): \(problem); \(remedy)" }

  /// Compares code and part; the texts are for people and change between versions.
  public static func == (left: RemoteCacheError, right: RemoteCacheError) -> Bool {
    left.code == right.code && left.subject == right.subject
  }

  /// Hashes what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(subject)
  }
}
