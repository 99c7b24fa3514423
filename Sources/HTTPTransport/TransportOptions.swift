/// Says how one request is to be fetched.
public struct TransportOptions: Sendable, Hashable {
  /// Says what to do with a redirect (a 3xx answer with a `Location`).
  public enum Redirects: Sendable, Hashable {
    /// Hands the redirect itself to the caller.
    case returned
    /// Follows up to this many in a row; one more is an error. `GET` and `HEAD` only: other
    /// methods get the redirect itself, as to repeat them needs the caller's consent.
    case followed(maximum: Int)
  }

  /// Bounds the time to make a connection, looking up the name included; nil: the system's bound.
  ///
  /// Fractions of a second count, down to a millisecond; so for all three.
  public var connectTimeout: Duration?

  /// Bounds the time without any byte from the server once there is a connection; nil: no bound.
  ///
  /// It does not run while the transfer is paused because the reader is slow.
  public var idleTimeout: Duration?

  /// Bounds the whole transfer, pauses of a slow reader included; nil: no bound.
  public var wholeTimeout: Duration?

  /// Says what to do with redirects.
  public var redirects: Redirects

  /// Asks for the body as it is on the wire, with its content coding.
  ///
  /// Otherwise codings that the transport knows are offered to the server and decoded. A request
  /// with a `Range` or an `Accept-Encoding` field of its own is always raw: a part of an encoded
  /// body cannot be decoded, and who names codings wants to see them.
  public var rawBody: Bool

  /// Makes options; the defaults suit an interactive program.
  public init(
    connectTimeout: Duration? = .seconds(30), idleTimeout: Duration? = .seconds(60),
    wholeTimeout: Duration? = nil, redirects: Redirects = .followed(maximum: 20),
    rawBody: Bool = false
  ) {
    self.connectTimeout = connectTimeout
    self.idleTimeout = idleTimeout
    self.wholeTimeout = wholeTimeout
    self.redirects = redirects
    self.rawBody = rawBody
  }
}
