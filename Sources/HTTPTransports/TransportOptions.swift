/// The options for sending one request.
public struct TransportOptions: Sendable, Hashable {
  /// The limit of the time to make a connection, with the look-up of the name; `nil` for the
  /// system's limit.
  ///
  /// This and the other limits are exact to a millisecond.
  public var connectTimeout: Duration?

  /// The limit of the time without a byte from or to the server, once there is a connection; `nil`
  /// for no limit.
  ///
  /// The time while the transfer waits for its reader, or for the source of the request's body,
  /// does not count.
  public var idleTimeout: Duration?

  /// The limit of the time of the whole transfer, including waits for a connection, a slow reader or
  /// a slow source; `nil` for none.
  public var wholeTimeout: Duration?

  /// Whether `User-Agent` and `Accept` are added to requests without them.
  ///
  /// Otherwise, as a proxy needs it, only `Host` and the fields that frame the body are added to
  /// the request's own fields. `Accept-Encoding` and `Expect` are never added.
  public var addsDefaultFields: Bool

  /// Whether redirects may lead from `https` to `http`; otherwise one is an error
  /// (``TransportError/Code/insecureRedirect``). This is for callers that follow redirects:
  /// transports do not.
  public var allowsInsecureRedirects = false

  /// The place of the request among those that wait for a connection: higher ones first, equal ones
  /// in the order in which they were sent.
  ///
  /// Requests wait if a transport has its maximum number of connections to their server. A request
  /// that does not wait is sent at once, whatever its priority.
  public var priority: Int

  /// Creates options; the defaults suit an interactive program.
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
