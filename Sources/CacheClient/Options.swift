/// The options of a client.
public struct ClientOptions: Sendable {
  /// How requests are sent.
  public var transport: TransportOptions

  /// The rules: private or shared, heuristics, targeted fields.
  public var rules: CacheRules

  /// The rule for keys.
  public var keyRule: KeyRule

  /// The key that conceals `Authorization` and `Cookie` where they select stored responses. By
  /// default it is in the user's folder for the state of programs.
  public var fingerprintKey = FingerprintKey()

  /// The name of this cache in Cache-Status (RFC 9211); a token.
  public var cacheName: String

  /// The limit of memory, in bytes, for frequent stored responses, with bodies up to 64 KiB; 0
  /// keeps none. Up to 128 larger bodies stay open.
  public var hotBytes: Int

  /// The limit of memory, in bytes, for responses that are kept there and not stored
  /// (``CachingClient/store(_:_:for:userInfo:options:inMemoryOnly:)``); the oldest are removed
  /// first.
  public var memoryOnlyBytes = 4 << 20

  /// The limit of stale responses that are validated in the background at the same time; further
  /// ones are served stale without a validation.
  public var maximumBackgroundFetches: Int

  /// The files that ship with the program and answer for URLs, before the store does; `nil` for
  /// none.
  public var substitutes: Substitutes?

  /// Decides whether a stored response that a request selects may be returned for it, before the rules
  /// check whether it is fresh; `nil` to return all.
  public var mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)?

  /// Provides credentials for servers that ask for them; with `nil`, a 401 is an answer like
  /// others.
  public var credentials: CredentialProvider?

  /// The vault that keeps credentials when the program ends; it is searched before ``credentials``
  /// is called. Without a network, what was stored with its credential for an origin is found, if it has
  /// only one. With `nil`, they are kept in memory only.
  public var credentialVault: (any CredentialVault)?

  /// The servers on which many machines share responses, queried between the store and the origin;
  /// `nil` for none. Not used over a transport that `isForOneUser`.
  public var remote: RemoteCache?

  /// Whether the tier is also queried if the policy of a request forbids the network: for machines
  /// that reach the tier, but not the origin.
  public var asksRemoteOffline = false

  /// Creates options: a private cache by the rules of RFC 9111.
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

/// The options of one request.
public struct FetchOptions: Sendable {
  /// How stored responses may be used.
  public var policy: CachePolicy

  /// The seconds for which a stored response may be used after it was received or last confirmed,
  /// whatever its server says (also `no-cache`), with the policy `CachePolicy.protocolRules`; `nil`
  /// to do as the server says. Older responses are validated. It does not change what may be
  /// stored.
  public var lifetime: Int64?

  /// Whether `gzip` and `deflate` are offered to the server, and removed from the body. A request
  /// with a `Range`, or an `Accept-Encoding` other than `identity`, gets the bytes as they are stored.
  public var decodesContent: Bool

  /// The limit of redirects in a row; one more is an error. With 0, redirects are returned as
  /// responses.
  public var maximumRedirects: Int

  /// How the request is sent; `nil` for the options of the client. Requests share an answer only if
  /// these options are equal.
  public var transport: TransportOptions?

  /// A credential for the origin of the request, sent by the scheme that the server wants, before
  /// the vault or the provider is called; `nil` for the credential of the session. It does not
  /// apply to requests with their own `Authorization`.
  public var credential: Credential?

  /// Whether the store is read on the caller's thread, which then blocks for some microseconds:
  /// changing threads would cost more.
  package var decidesAtOnce = false

  /// Whether ``CachingClient/storedAnswer(to:options:)`` may start a validation. If not, there is no
  /// answer at once when one is due: `fetch` starts it, with the fields that its request has.
  package var validatesAtOnce = true

  /// Whether a stale response that is served (`stale-while-revalidate`) is validated afterwards.
  package var validatesInBackground = true

  /// The value of ``CachingClient/logOutCount`` when the call began that needs the request: after
  /// another log-out, nothing more is sent for it. `nil` if it begins now.
  package var logOuts: Int?

  /// Called for each interim response (1xx) before the final one; must not block.
  public var onInterim: (@Sendable (HTTPResponseHead) -> Void)?

  /// Creates options; the defaults suit a program that wants the content.
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
