import HTTPTransports

/// The reason why a remote tier has no answer. The names appear as `detail` in Cache-Status.
public struct RemoteReason: RawRepresentable, Error, Sendable, Hashable, CustomStringConvertible {
  /// The name, such as `remote-timeout`.
  public let rawValue: String

  /// Creates a reason from its name; the known ones are constants.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The name.
  public var description: String { rawValue }

  /// There is no document of the key.
  public static let absent = RemoteReason(rawValue: "remote-absent")
  /// The document has no response that the request selects and the rules permit.
  public static let noVariant = RemoteReason(rawValue: "remote-no-variant")
  /// The document names a body that is not there.
  public static let bodyGone = RemoteReason(rawValue: "remote-body-gone")
  /// A purge came after the document.
  public static let purged = RemoteReason(rawValue: "remote-purged")
  /// The response was received in the future by the clock of this machine.
  public static let clock = RemoteReason(rawValue: "remote-clock")
  /// One of the time limits has passed.
  public static let timeout = RemoteReason(rawValue: "remote-timeout")
  /// There is no connection, or it was lost.
  public static let unreachable = RemoteReason(rawValue: "remote-unreachable")
  /// The server's certificate is not accepted, or TLS failed.
  public static let untrusted = RemoteReason(rawValue: "remote-untrusted")
  /// The answer is not HTTP.
  public static let garbage = RemoteReason(rawValue: "remote-garbage")
  /// The server redirects, which is not followed.
  public static let redirect = RemoteReason(rawValue: "remote-redirect")
  /// The server refuses the credentials (401, 403).
  public static let refused = RemoteReason(rawValue: "remote-refused")
  /// The server answers with an error of its own (429, 5xx, or another status without a meaning
  /// here).
  public static let serverError = RemoteReason(rawValue: "remote-server-error")
  /// The server has no room (507, 413).
  public static let full = RemoteReason(rawValue: "remote-full")
  /// The document is too large or malformed, or its signature is wrong.
  public static let badDocument = RemoteReason(rawValue: "remote-bad-document")
  /// The document is that of another key.
  public static let otherKey = RemoteReason(rawValue: "remote-other-key")
  /// The body does not have the promised length or SHA-256.
  public static let wrongBytes = RemoteReason(rawValue: "remote-wrong-bytes")
  /// The body ended too early.
  public static let truncated = RemoteReason(rawValue: "remote-truncated")
  /// The body is longer than this machine accepts.
  public static let tooLarge = RemoteReason(rawValue: "remote-too-large")
  /// The breaker is open: the server has failed, and is not asked for a while.
  public static let open = RemoteReason(rawValue: "remote-open")
  /// The server is not asked any more, because it has refused the credentials.
  public static let off = RemoteReason(rawValue: "remote-off")
  /// The mode forbids it.
  public static let mode = RemoteReason(rawValue: "remote-mode")
  /// As many look-ups as are allowed are under way.
  public static let busy = RemoteReason(rawValue: "remote-busy")
  /// Another writer has changed the document again and again.
  public static let contended = RemoteReason(rawValue: "remote-contended")
  /// The look-up was cancelled.
  public static let cancelled = RemoteReason(rawValue: "remote-cancelled")
  /// The response could not be stored on this machine.
  public static let notStored = RemoteReason(rawValue: "remote-not-stored")

  /// Whether the server, and not one of its answers, is at fault: such results open the breaker.
  var isServerFault: Bool {
    switch self {
    case .timeout, .unreachable, .untrusted, .garbage, .redirect, .serverError, .truncated: true
    default: false
    }
  }

  init(_ error: TransportError) {
    switch error.code {
    case .timeout: self = .timeout
    case .tls, .certificate, .pinMismatch, .clientCertificate, .authoritiesFile: self = .untrusted
    case .protocolViolation, .headTooLarge: self = .garbage
    case .truncatedBody: self = .truncated
    case .cancelled: self = .cancelled
    default: self = .unreachable
    }
  }
}
