/// Tells why a transfer did not end well.
public struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Names the cause; open, so that later versions can add causes.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// Gives the name.
    public let rawValue: String

    /// Makes a name; see the constants for those that are in use.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The request cannot be sent: a field or the method has a character that it must not have, or
    /// the method is one that a transport cannot serve, such as `CONNECT`.
    public static let invalidRequest = Code(rawValue: "invalidRequest")
    /// The source of the request's body threw, or gave more or less than the stated length.
    public static let requestBodyFailed = Code(rawValue: "requestBodyFailed")
    /// The name of the host, or of the proxy, is not known.
    public static let cannotResolve = Code(rawValue: "cannotResolve")
    /// No connection could be made.
    public static let cannotConnect = Code(rawValue: "cannotConnect")
    /// One of the timeouts passed.
    public static let timeout = Code(rawValue: "timeout")
    /// The TLS handshake failed.
    public static let tls = Code(rawValue: "tls")
    /// The server's certificate is not accepted: of no trusted authority, for another name, or expired.
    public static let certificate = Code(rawValue: "certificate")
    /// The server is not the one that is pinned for its host; the detail tells host and what was found.
    public static let pinMismatch = Code(rawValue: "pinMismatch")
    /// The client certificate, its key or its passphrase cannot be used.
    public static let clientCertificate = Code(rawValue: "clientCertificate")
    /// The file of the trusted certificate authorities is missing or has none.
    public static let authoritiesFile = Code(rawValue: "authoritiesFile")
    /// What the transport is made with cannot mean anything.
    public static let invalidSetup = Code(rawValue: "invalidSetup")
    /// The connection ended before a whole head had come.
    public static let connectionLost = Code(rawValue: "connectionLost")
    /// The connection ended, or the body's framing broke, before the body was complete.
    public static let truncatedBody = Code(rawValue: "truncatedBody")
    /// The answer's head or trailers are larger than the transport's limits.
    public static let headTooLarge = Code(rawValue: "headTooLarge")
    /// The server's answer breaks the rules of HTTP.
    public static let protocolViolation = Code(rawValue: "protocolViolation")
    /// A redirect leads from `https` to `http`, which the caller has not allowed; the detail tells
    /// where to.
    public static let insecureRedirect = Code(rawValue: "insecureRedirect")
    /// The caller cancelled the transfer, or the transport went away.
    public static let cancelled = Code(rawValue: "cancelled")
    /// The credential provider cancelled the request when the server asked for a credential.
    public static let loginCancelled = Code(rawValue: "loginCancelled")
    /// Something else failed, such as memory or the transport's own library.
    public static let failed = Code(rawValue: "failed")
  }

  /// Names the cause.
  public let code: Code

  /// Gives the URL that was asked for, without credentials.
  public let url: String

  /// Gives the words of the transport's library, for a log; may be empty, never has credentials.
  public let detail: String

  /// Makes an error.
  public init(_ code: Code, url: String, detail: String = "") {
    self.code = code
    self.url = url
    self.detail = detail
  }

  /// Says which URL, what happened, and what to do.
  public var description: String {
    let (cause, remedy) = explanation
    let words = detail.isEmpty ? cause : "\(cause) (\(detail))"
    return remedy.isEmpty ? "\(url): \(words)" : "\(url): \(words); \(remedy)"
  }

  /// Tells whether there was no way to the origin, none that held, or nothing at its end that speaks
  /// HTTP: then, and only then, may what is stored stand in for it (RFC 9111, section 4.2.4). Whoever
  /// showed a wrong certificate was reached.
  public var isUnreachable: Bool {
    switch code {
    case .cannotResolve, .cannotConnect, .timeout, .tls, .connectionLost, .truncatedBody,
      .headTooLarge, .protocolViolation:
      true
    default: false
    }
  }

  /// Compares code and URL; the detail is text for people and changes between versions.
  public static func == (left: TransportError, right: TransportError) -> Bool {
    left.code == right.code && left.url == right.url
  }

  /// Hashes what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(url)
  }

  /// Says what happened, in a few words without the URL.
  package var cause: String { explanation.cause }

  private var explanation: (cause: String, remedy: String) {
    switch code {
    case .invalidRequest:
      ("the request cannot be sent", "check the method and the characters of the fields")
    case .requestBodyFailed:
      ("the request's body could not be had", "check what gives it and the stated length")
    case .cannotResolve:
      ("the host name cannot be resolved", "check its spelling and the network")
    case .cannotConnect:
      ("no connection can be made", "check that the server runs and the network is up")
    case .timeout: ("the time is over", "try again, or allow more time")
    case .tls: ("the TLS connection failed", "check what both sides ask of it, and the network")
    case .certificate:
      (
        "the server's certificate is not accepted",
        "check it, the name in the URL, and the trusted authorities"
      )
    case .pinMismatch:
      (
        "the server is not the pinned one",
        url.hasPrefix("http:")
          ? "write the URL with https"
          : "if it has a new key, add its pin; if not, somebody stands in between"
      )
    case .clientCertificate:
      ("the client certificate cannot be used", "check its file, its key and the passphrase")
    case .authoritiesFile:
      ("the file of trusted authorities cannot be used", "check that it is there and has PEM")
    case .invalidSetup:
      ("the transport cannot be made so", "name hosts without scheme, port and path")
    case .connectionLost:
      ("the connection ended before there was an answer", "try again")
    case .truncatedBody: ("the body ended too early", "try again")
    case .headTooLarge:
      ("the fields of the answer are too large", "tell those who run the server")
    case .protocolViolation: ("the answer is not valid HTTP", "tell those who run the server")
    case .insecureRedirect:
      (
        "the redirect leads from https to http, which anybody on the way can read and change",
        "ask for that URL itself, or allow such redirects"
      )
    case .cancelled: ("the transfer was cancelled", "")
    case .loginCancelled: ("the log-in was cancelled", "send the request again to log in")
    default: ("the transfer failed", "")
    }
  }
}
