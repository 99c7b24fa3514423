public import ContentCoding

/// An error of a fetch.
public struct ClientError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The cause of an error.
  public enum Cause: Sendable, Hashable {
    /// The network must not be used, and the store has no answer, for this reason.
    case notStored(ForwardReason)
    /// The network failed.
    case transport(TransportError)
    /// The store failed while a body was read.
    case store(StoreError)
    /// The content coding of the body is damaged.
    case coding(ContentCodingError)
    /// There were more redirects in a row than allowed.
    case tooManyRedirects(maximum: Int)
    /// The body is longer than allowed, in bytes.
    case tooLarge(limit: Int)
  }

  /// The cause.
  public let cause: Cause

  /// The URL of the request, without credentials.
  public let url: String

  /// Creates an error.
  public init(_ cause: Cause, url: String) {
    self.cause = cause
    self.url = url
  }

  package init(_ code: TransportError.Code, url: String, detail: String = "") {
    self.init(.transport(TransportError(code, url: url, detail: detail)), url: url)
  }

  /// Whether the request was cancelled, so that nothing has failed.
  package var isCancellation: Bool {
    if case .transport(let error) = cause { error.code == .cancelled } else { false }
  }

  /// Whether a stored response may be used instead: the server was not reached, or its answer cannot be
  /// decoded.
  package var mayHaveStandIn: Bool {
    switch cause {
    case .transport(let error): error.isUnreachable
    case .coding(let error): error.isDamage
    default: false
    }
  }

  /// Whether the server has none of the pins of its host. No stored response or substitute is used instead.
  var isPinMismatch: Bool {
    if case .transport(let error) = cause { error.code == .pinMismatch } else { false }
  }

  /// The URL, what is wrong, and what to do.
  public var description: String {
    switch cause {
    case .notStored(.method(let method)):
      "\(url): \(method) is not answered offline; send it when there is a network"
    case .notStored(let reason):
      "\(url): cannot be answered offline, because \(reason); \(Self.remedy(for: reason))"
    case .transport(let error): error.description
    case .store(let error): "\(url): the stored body cannot be read (\(error)); fetch it again"
    case .coding(let error): "\(url): the body cannot be decoded (\(error)); fetch it again"
    case .tooManyRedirects(let maximum):
      "\(url): there are more than \(maximum) redirects; check for a loop"
    case .tooLarge(let limit): "\(url): the body is longer than \(limit) bytes; read it in pieces"
    }
  }

  /// Returns what to do if the store has no answer. To fetch it before does not help against what holds
  /// for each request, nor if it is not stored then.
  private static func remedy(for reason: ForwardReason) -> String {
    switch reason {
    case .mustValidate, .policy, .requestNoStore, .requestBody, .condition: "allow the network"
    case .otherVariant: "send those, or allow the network"
    case .refused: "change that rule, or allow the network"
    case .closed: "open it again"
    default: "fetch it first, and check that it is stored"
    }
  }
}
