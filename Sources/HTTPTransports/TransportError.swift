/// An error of a transfer.
public struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of an error; open, so that later versions can add kinds.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The name.
    public let rawValue: String

    /// Creates a code; see the constants for those that are used.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The request cannot be sent: a field or the method has an invalid character, or a transport
    /// does not support the method, such as `CONNECT`.
    public static let invalidRequest = Code(rawValue: "invalidRequest")
    /// The source of the request's body has thrown an error, or had more or fewer bytes than
    /// stated.
    public static let requestBodyFailed = Code(rawValue: "requestBodyFailed")
    /// The name of the host, or of the proxy, does not resolve.
    public static let cannotResolve = Code(rawValue: "cannotResolve")
    /// No connection could be made.
    public static let cannotConnect = Code(rawValue: "cannotConnect")
    /// One of the timeouts passed.
    public static let timeout = Code(rawValue: "timeout")
    /// The TLS handshake failed.
    public static let tls = Code(rawValue: "tls")
    /// The server's certificate is not accepted: it has no trusted authority, another name, or has
    /// expired.
    public static let certificate = Code(rawValue: "certificate")
    /// The server has none of the pins of its host; the detail has the host and what was found.
    public static let pinMismatch = Code(rawValue: "pinMismatch")
    /// The client certificate, its key or its passphrase cannot be used.
    public static let clientCertificate = Code(rawValue: "clientCertificate")
    /// The file of the trusted certificate authorities is missing or has none.
    public static let authoritiesFile = Code(rawValue: "authoritiesFile")
    /// The configuration of the transport is invalid.
    public static let invalidSetup = Code(rawValue: "invalidSetup")
    /// The connection ended before a whole head was received.
    public static let connectionLost = Code(rawValue: "connectionLost")
    /// The connection ended, or the body's framing was wrong, before the body was complete.
    public static let truncatedBody = Code(rawValue: "truncatedBody")
    /// The answer's head or trailers are larger than the transport's limits.
    public static let headTooLarge = Code(rawValue: "headTooLarge")
    /// The server's response violates HTTP.
    public static let protocolViolation = Code(rawValue: "protocolViolation")
    /// The system forbids `http` to the server (App Transport Security, on Apple platforms).
    public static let insecureRequest = Code(rawValue: "insecureRequest")
    /// A redirect leads from `https` to `http`, which is not allowed; the detail has its target.
    public static let insecureRedirect = Code(rawValue: "insecureRedirect")
    /// A redirect leads to a URL that cannot be fetched, such as `file:`; the detail has its target.
    public static let unusableRedirect = Code(rawValue: "unusableRedirect")
    /// The caller cancelled the transfer, or the transport was released.
    public static let cancelled = Code(rawValue: "cancelled")
    /// The credential provider cancelled the request when the server asked for a credential.
    public static let loginCancelled = Code(rawValue: "loginCancelled")
    /// Another failure, such as of memory or of the transport's library.
    public static let failed = Code(rawValue: "failed")
  }

  /// The kind of the error.
  public let code: Code

  /// The URL of the request, without credentials.
  public let url: String

  /// Details from the transport's library, for a log; may be empty, never has credentials.
  public let detail: String

  /// Creates an error.
  public init(_ code: Code, url: String, detail: String = "") {
    self.code = code
    self.url = url
    self.detail = detail
  }

  /// The URL, what happened, and what to do.
  public var description: String {
    let (cause, remedy) = explanation
    let words = detail.isEmpty ? cause : "\(cause) (\(detail))"
    return remedy.isEmpty ? "\(url): \(words)" : "\(url): \(words); \(remedy)"
  }

  /// Whether the origin was not reached: no connection could be made or kept, or the server does
  /// not speak HTTP. Only then may a stored response replace the answer (RFC 9111, section 4.2.4).
  /// A server with a wrong certificate was reached.
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

  /// Hashes the properties that ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(url)
  }

  /// What happened, in a few words without the URL.
  package var cause: String { explanation.cause }

  private var explanation: (cause: String, remedy: String) {
    switch code {
    case .invalidRequest:
      ("the request cannot be sent", "check the method and the characters of the fields")
    case .requestBodyFailed:
      ("the request's body could not be read", "check its source and the stated length")
    // The words of libcurl.
    case .cannotResolve where detail.hasPrefix("Could not resolve proxy"):
      ("the name of the proxy cannot be resolved", "check its spelling and the network")
    case .cannotResolve:
      ("the host name cannot be resolved", "check its spelling and the network")
    case .cannotConnect:
      (
        "no connection can be made",
        "check that the server runs, or the proxy in use, and the network is up"
      )
    case .timeout: ("a time limit was exceeded", "try again, or allow more time")
    case .tls:
      (
        "the TLS connection failed",
        "check that the server speaks https at this port, its TLS versions, and the network"
      )
    case .certificate:
      (
        "the server's certificate is not accepted",
        "check it, the name in the URL, and the trusted authorities"
      )
    case .pinMismatch:
      (
        "the server does not have the pinned key or certificate",
        url.hasPrefix("http:")
          ? "write the URL with https"
          : "if it has a new key, add its pin; otherwise the connection may be intercepted"
      )
    case .clientCertificate:
      ("the client certificate cannot be used", "check its file, its key and the passphrase")
    case .authoritiesFile:
      ("the file of trusted authorities cannot be used", "check that it exists and contains PEM")
    case .invalidSetup:
      ("the configuration of the transport is invalid", "change what it names in the network setup")
    case .connectionLost:
      ("the connection ended before there was an answer", "try again")
    case .truncatedBody: ("the body is incomplete", "try again")
    case .headTooLarge:
      ("the fields of the answer are too large", "report this to the operator of the server")
    case .protocolViolation:
      ("the answer is not valid HTTP", "report this to the operator of the server")
    case .insecureRequest:
      (
        "the system does not allow http to this server",
        "write the URL with https, or allow it in the app's NSAppTransportSecurity"
      )
    case .insecureRedirect:
      (
        "the redirect leads from https to http, which anybody on the way can read and change",
        "request that URL itself, or allow such redirects"
      )
    case .unusableRedirect:
      ("the redirect cannot be followed", "report this to the operator of the server")
    case .cancelled: ("the transfer was cancelled", "")
    case .loginCancelled: ("the log-in was cancelled", "send the request again to log in")
    default: ("the transfer failed", "")
    }
  }
}
