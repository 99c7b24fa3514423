public import HTTPTransports

/// The configuration of a ``URLSessionTransport`` that only URLSession has.
///
/// On Linux only the defaults can be used.
public struct URLSessionOptions: Sendable {
  /// The use of several ways to the network at once, such as Wi-Fi and a mobile network. iOS only.
  public enum Multipath: Sendable, Hashable {
    /// One way at a time.
    case none
    /// Another way is used when the first one fails.
    case handover
    /// The way with the lower latency is used.
    case interactive
  }

  /// Whether a request waits until there is a network, instead of failing with `cannotConnect`. Only
  /// `TransportOptions.wholeTimeout` limits that time.
  public var waitsForConnectivity = false

  /// Whether mobile networks are used.
  public var allowsCellularAccess = true

  /// Whether expensive networks are used, such as mobile ones and hotspots.
  public var allowsExpensiveNetworks = true

  /// Whether networks are used for which the user has chosen the low data mode.
  public var allowsConstrainedNetworks = true

  /// The use of several ways to the network.
  public var multipath = Multipath.none

  /// The name of a background session; `nil` for a session that runs only with the app.
  ///
  /// Its requests are download tasks, which go on while the app is suspended: a response arrives when
  /// its whole body has. Only `GET` is sent, and no interim responses are reported. The system follows
  /// redirects, and waits for a network; a redirected response is an error here, and time limits do not
  /// hold. If the app is ended meanwhile, the response is lost. The app passes the handler of
  /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)` to
  /// ``URLSessionTransport/setBackgroundHandler(_:)``. For a transport of its own, made once for each
  /// name.
  public var backgroundIdentifier: String?

  /// Decides about a server's certificate after the system, or the authorities of the set-up, have
  /// judged it. `nil`: their judgement counts.
  ///
  /// Return `true` to accept the server; App Transport Security may still refuse one that the system
  /// does not trust. The pins of its host must match, too. Called once for each
  /// connection, on any thread.
  public var acceptsServer: (@Sendable (ServerCertificates) async -> Bool)?

  /// Creates the default options.
  public init() {}

  /// The reason why these options cannot be used on Linux, or `nil`.
  var needsApplePlatform: String? {
    if backgroundIdentifier != nil { return "background sessions" }
    if acceptsServer != nil { return "a callback for certificates" }
    if waitsForConnectivity { return "waiting for connectivity" }
    if multipath != .none { return "multipath" }
    if !allowsCellularAccess || !allowsExpensiveNetworks || !allowsConstrainedNetworks {
      return "a choice of networks"
    }
    return nil
  }
}

/// The certificates that a server has presented.
public struct ServerCertificates: Sendable, Hashable {
  /// The name of the host.
  public let host: String

  /// The certificates in DER: that of the server first, then those of the authorities.
  public let certificates: [[UInt8]]

  /// Whether the system, or the authorities of the set-up, trust the first one for this host.
  public let isTrusted: Bool

  /// The pins that the first certificate matches: one of its key, one of itself.
  public let pins: Set<Pin>
}
