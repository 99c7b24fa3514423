/// Says how one request is to be sent.
public struct TransportOptions: Sendable, Hashable {
  /// Bounds the time to make a connection, looking up the name included; nil: the system's bound.
  ///
  /// Fractions of a second count, down to a millisecond; so for all three.
  public var connectTimeout: Duration?

  /// Bounds the time without any byte from or to the server once there is a connection; nil: no
  /// bound.
  ///
  /// It does not run while the transfer waits for its reader or for the source of its request's
  /// body.
  public var idleTimeout: Duration?

  /// Bounds the whole transfer, waiting for a slow reader or source included; nil: no bound.
  public var wholeTimeout: Duration?

  /// Adds `User-Agent` and `Accept` where the request does not have them.
  ///
  /// Otherwise nothing but `Host` and the fields that frame the body is added to the request's
  /// own fields, as a proxy wants it. `Accept-Encoding` and `Expect` are never added.
  public var addsDefaultFields: Bool

  /// Lets redirects lead from `https` to `http`; otherwise one is an error
  /// (``TransportError/Code/insecureRedirect``). For those that follow redirects: transports do not.
  public var allowsInsecureRedirects = false

  /// The place of the request among those that wait for a connection: higher ones first, equal ones in
  /// the order in which they were sent.
  ///
  /// Requests wait if a transport has as many connections to their server as it may have. A request that
  /// does not wait is sent at once, whatever its priority is.
  public var priority: Int

  /// Makes options; the defaults suit an interactive program.
  public init(
    connectTimeout: Duration? = .seconds(30), idleTimeout: Duration? = .seconds(60),
    wholeTimeout: Duration? = nil, addsDefaultFields: Bool = true, priority: Int = 0
  ) {
    self.connectTimeout = connectTimeout
    self.idleTimeout = idleTimeout
    self.wholeTimeout = wholeTimeout
    self.addsDefaultFields = addsDefaultFields
    self.priority = priority
  }
}
