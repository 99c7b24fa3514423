public import HTTPAuthentication
public import HTTPCaching
public import HTTPSemantics
public import HTTPTransports
public import RemoteTier

/// Says how a client works.
public struct ClientOptions: Sendable {
  /// Says how requests are sent.
  public var transport: TransportOptions

  /// Gives the rules: private or shared, heuristics, targeted fields.
  public var rules: CacheRules

  /// Makes the keys.
  public var keyRule: KeyRule

  /// Conceals `Authorization` and `Cookie` of requests where they select stored responses: by
  /// default with a key in the user's folder for the state of programs.
  public var fingerprintKey = FingerprintKey()

  /// Names this cache in Cache-Status (RFC 9211); a token.
  public var cacheName: String

  /// Bounds the memory, in bytes, for stored responses that are kept ready because they are asked
  /// for often, bodies up to 64 KiB included; 0 keeps none. Up to 128 larger bodies stay open.
  public var hotBytes: Int

  /// The limit of memory, in bytes, for responses that are kept there and not stored
  /// (``CachingClient/store(_:_:for:userInfo:options:inMemoryOnly:)``); the oldest are removed
  /// first.
  public var memoryOnlyBytes = 4 << 20

  /// Bounds how many stale responses are validated in the background at the same time; what is
  /// above is served stale without a validation.
  public var maximumBackgroundFetches: Int

  /// Names files that ship with the program and answer for remote URLs; they are asked before the
  /// store. nil: none.
  public var substitutes: Substitutes?

  /// Decides, after the rules, whether a stored response may be returned for a request; nil: it
  /// may.
  public var mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)?

  /// Answers servers that want credentials; nil: a 401 is an answer like others.
  public var credentials: CredentialProvider?

  /// Keeps credentials when the program ends; it is asked before ``credentials``. nil: they are
  /// kept in memory only.
  public var credentialVault: (any CredentialVault)?

  /// The servers on which many machines share responses, asked between the store and the origin;
  /// nil: none.
  public var remote: RemoteCache?

  /// Asks the tier also where the policy of a request forbids the network: for machines that reach
  /// the tier, but not the origin.
  public var asksRemoteOffline = false

  /// Makes options: a private cache by the rules of RFC 9111.
  public init(
    transport: TransportOptions = TransportOptions(), rules: CacheRules = CacheRules(),
    keyRule: KeyRule = .url, cacheName: String = "OfflineCache", hotBytes: Int = 4 << 20,
    maximumBackgroundFetches: Int = 16,
    mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)? = nil,
    credentials: CredentialProvider? = nil
  ) {
    self.transport = transport
    self.rules = rules
    self.keyRule = keyRule
    self.cacheName = cacheName
    self.hotBytes = hotBytes
    self.maximumBackgroundFetches = maximumBackgroundFetches
    self.mayReturnStored = mayReturnStored
    self.credentials = credentials
  }
}

/// Says how one request is answered.
public struct FetchOptions: Sendable {
  /// Says what the caller wants of stored responses.
  public var policy: CachePolicy

  /// The seconds for which a stored response is good after it came or was last confirmed, whatever
  /// its server says (also `no-cache`), with the policy `CachePolicy.protocolRules`; nil: as the
  /// server says. What is older is validated. Makes nothing stored that may not be.
  public var lifetime: Int64?

  /// Offers `gzip` and `deflate` to the server, and takes them off the body. Not for requests that
  /// have an `Accept-Encoding` or a `Range` of their own: those get the bytes as they are stored.
  public var decodesContent: Bool

  /// Bounds how many redirects in a row are followed; 0 hands redirects over. One more is an error.
  public var maximumRedirects: Int

  /// Says how the request is sent; nil: as the client's options say. Requests wait for the answer
  /// to one another only where these are the same.
  public var transport: TransportOptions?

  /// Is sent to the origin of the request, by the scheme that the server wants, before anybody is
  /// asked for one; nil: what is kept for the session. Not for requests with an `Authorization` of
  /// their own.
  public var credential: Credential?

  /// Looks into the store on the caller's thread, which blocks for the microseconds that the disk
  /// takes: a hop to another thread and back costs more.
  package var decidesAtOnce = false

  /// Gets each interim answer (1xx) before the final one comes; must not block.
  public var onInterim: (@Sendable (HTTPResponseHead) -> Void)?

  /// Makes options; the defaults suit a program that wants the content.
  public init(
    policy: CachePolicy = .protocolRules, lifetime: Int64? = nil, decodesContent: Bool = true,
    maximumRedirects: Int = 20, transport: TransportOptions? = nil,
    credential: Credential? = nil,
    onInterim: (@Sendable (HTTPResponseHead) -> Void)? = nil
  ) {
    self.policy = policy
    self.lifetime = lifetime
    self.decodesContent = decodesContent
    self.maximumRedirects = maximumRedirects
    self.transport = transport
    self.credential = credential
    self.onInterim = onInterim
  }
}
