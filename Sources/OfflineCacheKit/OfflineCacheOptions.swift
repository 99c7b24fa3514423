public import CacheClient
public import CacheStore
public import CacheSystem
public import CurlHTTP
public import HTTPCaching
public import HTTPSemantics
import HTTPTransports
public import Reachability

/// Says how an ``OfflineCache`` works.
public struct OfflineCacheOptions: Sendable {
  /// Tells which requests are equal: those of one method and normal URL, or what the user's function
  /// says.
  public var keyRule: KeyRule

  /// Says when stored responses answer in place of the network; may be changed later.
  public var offlineMode: OfflineMode

  /// Tells whether there is a network; asked in the mode ``OfflineMode/whenUnreachable`` for what is not
  /// fresh in the store. nil: nobody knows, so the network is tried. Hosts on this machine are always
  /// asked, and so is everybody for what is not stored.
  public var reachability: (any NetworkReachability)?

  /// Answers from the store whatever the age while the network is constrained, in the mode
  /// ``OfflineMode/whenUnreachable``: stored responses are not validated, unless they say `no-cache`, or
  /// `must-revalidate` and are stale.
  public var sparesConstrainedNetworks = false

  /// Names files that ship with the program and answer for remote URLs, before the store is asked; nil:
  /// none. Requests that reload or validate pass them by.
  public var substitutes: Substitutes?

  /// Gives the rules of HTTP: the lifetime of responses that state none, targeted fields. The role is
  /// that of a private cache: it serves one user.
  public var rules: CacheRules

  /// Answers a request from the store whatever its `Authorization` is: for an app with one user, whose
  /// tokens change. Otherwise what was stored with one token is found with that token alone. Clear the
  /// cache when another user logs in.
  public var ignoresAuthorization: Bool {
    get { rules.ignoresAuthorization }
    set { rules.ignoresAuthorization = newValue }
  }

  /// The limit of memory in bytes for stored responses that are requested often, with bodies of up to
  /// 64 KiB; 0 keeps none in memory.
  public var memoryCapacity: Int

  /// The limit of memory, in bytes, for responses whose storage policy is `allowedInMemoryOnly`
  /// (``OfflineCache/store(_:for:)``); the oldest are removed first.
  public var memoryOnlyCapacity = 4 << 20

  /// Says what survives when a response has been stored.
  public var durability: Durability

  /// Bounds the length of a body that is given as `Data`, in bytes; more is an error.
  public var maximumDataBytes: Int

  /// Says how libcurl is set up: user agent, trusted authorities, pins, client certificate, proxy.
  public var network: CurlSetup

  /// Answers servers that want credentials; nil: a 401 is an answer like others.
  public var credentials: CredentialProvider?

  /// Lets redirects lead from `https` to `http`; otherwise one is an error
  /// (`appTransportSecurityRequiresSecureConnection`).
  public var allowsInsecureRedirects = false

  /// Conceals `Authorization` and `Cookie` of requests where they select stored responses: by default
  /// with a key in the user's folder for the state of programs.
  public var fingerprintKey = FingerprintKey()

  /// Says how many downloads run at once, and how often they are tried.
  public var downloads = DownloaderOptions(maximumRetries: 2)

  /// Counts what the capacity is held against, in place of the bytes on disk; held weakly.
  ///
  /// It has to live as long as the cache: without it the bytes on disk count again.
  public weak var sizeDelegate: (any StoreSizeDelegate)?

  /// The clock by which responses age and expire. A test of an app can use one that it sets.
  public var clock: any WallClock = SystemClock()

  /// Makes options; the defaults suit an app.
  public init(
    keyRule: KeyRule = .url, offlineMode: OfflineMode = .whenUnreachable,
    reachability: (any NetworkReachability)? = SystemReachability.shared,
    rules: CacheRules = CacheRules(role: .privateCache), memoryCapacity: Int = 4 << 20,
    durability: Durability = .process,
    maximumDataBytes: Int = CachingClient.defaultBodyLimit, network: CurlSetup = CurlSetup(),
    credentials: CredentialProvider? = nil
  ) {
    self.keyRule = keyRule
    self.offlineMode = offlineMode
    self.reachability = reachability
    self.rules = rules
    self.memoryCapacity = memoryCapacity
    self.durability = durability
    self.maximumDataBytes = maximumDataBytes
    self.network = network
    self.credentials = credentials
  }
}
