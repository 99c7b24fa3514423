public import CacheSystem

/// The configuration of an ``OfflineCache``.
public struct OfflineCacheOptions: Sendable {
  /// The rule for which requests are equal: those with the same method and normal URL, or those
  /// with the same result of the user's function.
  public var keyRule: KeyRule

  /// The mode that decides when stored responses are used in place of the network. It may be
  /// changed later.
  public var offlineMode: OfflineMode

  /// The source for the state of the network. It is asked in the mode
  /// ``OfflineMode/whenUnreachable`` if there is no fresh stored response. `nil`: the state is
  /// unknown, so the network is tried. Hosts on this machine are always asked, and so are all hosts
  /// if no response is stored.
  public var reachability: (any NetworkReachability)?

  /// Whether stored responses are used, whatever their age, while the network is constrained, in
  /// the mode ``OfflineMode/whenUnreachable``. They are not validated, unless they have `no-cache`,
  /// or have `must-revalidate` and are stale.
  public var sparesConstrainedNetworks = false

  /// The files that ship with the program and are used for remote URLs before the store is asked;
  /// `nil` for none. Requests that reload or validate do not use them.
  public var substitutes: Substitutes?

  /// The servers on which many machines share responses, asked between the store and the network;
  /// `nil` for none. Not used if the transport is for one user, for example because ``network`` keeps
  /// cookies or has a client certificate.
  public var remote: RemoteCache?

  /// The rules of HTTP: the lifetime of responses that do not state one, targeted fields. The role
  /// is that of a private cache: it serves one user.
  public var rules: CacheRules

  /// Whether stored responses are used whatever the `Authorization` of the request is: for an app
  /// with one user, whose tokens change. Otherwise a response that was stored with one token is
  /// found only with that token. Call ``OfflineCache/logOut(downloadsIn:)`` before another user logs
  /// in.
  public var ignoresAuthorization: Bool {
    get { rules.ignoresAuthorization }
    set { rules.ignoresAuthorization = newValue }
  }

  /// Whether responses that may not be reused online are kept for use without a network: temporary
  /// redirects, and the last good response of a page that is gone (404, 410). By default it is on.
  public var keepsHistory: Bool {
    get { rules.keepsHistory }
    set { rules.keepsHistory = newValue }
  }

  /// Whether responses with `no-store` are kept for use without a network, too: only with
  /// ``keepsHistory``.
  public var keepsNoStore: Bool {
    get { rules.keepsNoStore }
    set { rules.keepsNoStore = newValue }
  }

  /// The limit of memory in bytes for stored responses that are requested often, with bodies of up to
  /// 64 KiB; 0 keeps none in memory.
  public var memoryCapacity: Int

  /// The limit of memory, in bytes, for responses whose storage policy is `allowedInMemoryOnly`
  /// (``OfflineCache/store(_:for:)``); the oldest are removed first.
  public var memoryOnlyCapacity = 4 << 20

  /// The durability of stored responses; that of downloads is `isDurable` of ``downloads``.
  public var durability: Durability

  /// The limit on the length of a body that is returned as `Data`, in bytes. A longer body is an
  /// error.
  public var maximumDataBytes: Int

  /// The set-up of the transport: user agent, trusted authorities, pins, client certificate, proxy.
  public var network: NetworkSetup

  /// The credentials for servers that require them; with `nil`, a 401 is returned like other
  /// statuses.
  public var credentials: CredentialProvider?

  /// The vault that keeps credentials when the program ends: `KeychainCredentialVault` or
  /// `FileCredentialVault`. It is asked before ``credentials``. Without a network, what was stored with
  /// its credential for an origin is found, if it has only one. With `nil`, credentials are kept in
  /// memory only.
  public var credentialVault: (any CredentialVault)?

  /// Whether redirects may lead from `https` to `http`. Otherwise such a redirect is an error
  /// (`appTransportSecurityRequiresSecureConnection`).
  public var allowsInsecureRedirects = false

  /// The key that conceals `Authorization` and `Cookie` of requests if they select stored
  /// responses: by default a key in the user's folder for program state.
  public var fingerprintKey = FingerprintKey()

  /// The number of downloads that run at once, and the number of retries.
  public var downloads = DownloaderOptions(maximumRetries: 2)

  /// The delegate that computes the size that the capacity limits, in place of the bytes on disk.
  /// Held weakly.
  ///
  /// It must live as long as the cache: without it the bytes on disk are used again.
  public weak var sizeDelegate: (any StoreSizeDelegate)?

  #if canImport(Darwin)
    /// The options of URLSession, which a cache without a transport of its own uses: the choice of
    /// networks, waiting for one, and a callback for certificates. Leave `backgroundIdentifier` `nil`:
    /// it is for a downloader of its own. With `waitsForConnectivity`, a request waits even if a stored
    /// response could stand in, unless ``reachability`` says that there is no network.
    public var urlSession = URLSessionOptions()

    /// Whether the files are left out of the user's backups.
    public var isExcludedFromBackup = true

    /// The data protection class of the files; `nil` for that of the folder in which they are.
    ///
    /// With `complete`, the cache cannot be read while the device is locked: look-ups are misses then, and
    /// a cache cannot be opened (`permissionDenied`). Open it when protected data is available. Where a
    /// file cannot get the class, a cache is not opened (`fileProtectionFailed`).
    public var fileProtection: FileProtectionType?
  #endif

  /// The clock by which responses age and expire. A test of an app can use one that it sets.
  public var clock: any WallClock = SystemClock()

  /// Creates options. The defaults suit an app.
  public init(
    keyRule: KeyRule = .url, offlineMode: OfflineMode = .whenUnreachable,
    reachability: (any NetworkReachability)? = SystemReachability.shared,
    rules: CacheRules = .withHistory, memoryCapacity: Int = 4 << 20,
    durability: Durability = .process,
    maximumDataBytes: Int = CachingClient.defaultBodyLimit, network: NetworkSetup = NetworkSetup(),
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
