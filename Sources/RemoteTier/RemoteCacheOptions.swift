import CacheFormat
import HTTPSemantics
import MessageDigests

/// What a remote tier is used for.
public enum RemoteMode: String, Sendable, Hashable, CaseIterable {
  /// Look-ups only; nothing is written.
  case read
  /// Offers only; nothing is looked up.
  case write
  /// Look-ups and offers.
  case both

  var reads: Bool { self != .write }
  var writes: Bool { self != .read }
}

/// The set-up of a remote tier.
public struct RemoteCacheOptions: Sendable, CustomReflectable {
  /// The servers, 1 to 64; each name belongs to one of them.
  public var servers: [RemoteServer]
  /// The name of the group of machines that share responses.
  public let namespace: String
  /// What the tier is used for.
  public var mode: RemoteMode
  /// The longest body that is looked up or offered, in bytes: 256 MiB by default.
  public var maximumBodyBytes: UInt64 = 256 << 20
  /// The time limits of look-ups.
  public var limits = RemoteTimeLimits()
  /// The most look-ups at once with one server; others are misses.
  public var maximumLookUps = 56
  /// The most offers that wait; the oldest ones are dropped and counted.
  public var maximumWaitingOffers = 1_000
  /// The most bytes of bodies of offers that wait.
  public var maximumWaitingBytes: UInt64 = 64 << 20
  /// The offers that are uploaded at once.
  public var uploads = 4
  /// Is called once for each ``RemoteNotice``, from any thread; must not block.
  public var onNotice: @Sendable (RemoteNotice) -> Void = { _ in }

  /// The most connections to one server at once: those of look-ups and offers, and one for the purge
  /// list. The transport should allow as many, because the time limits count while a request waits.
  public var connections: Int {
    min(max(1, maximumLookUps), 1_000) + min(max(1, uploads), 1_000) + 1
  }

  let secret: [UInt8]

  /// Creates a set-up.
  ///
  /// - Parameters:
  ///   - servers: The servers, 1 to 64.
  ///   - namespace: 1 to 128 letters, digits and the characters `.`, `_` and `-`.
  ///   - secret: Signs all documents of the namespace; at least 16 bytes that nobody can guess.
  ///     Whoever has it can change what all machines of the namespace get.
  ///   - mode: What the tier is used for.
  /// - Throws: ``RemoteCacheError``.
  public init(
    servers: [RemoteServer], namespace: String = "default", secret: [UInt8],
    mode: RemoteMode = .both
  ) throws(RemoteCacheError) {
    guard (1...64).contains(servers.count), Set(servers.map(\.base)).count == servers.count else {
      throw RemoteCacheError(
        .invalidServers, "the remote tier",
        problem: "the list of servers is empty, too long, or has one twice",
        remedy: "give 1 to 64 different URLs")
    }
    guard (1...128).contains(namespace.utf8.count),
      namespace.utf8.allSatisfy({ ASCII.isUnreserved($0) && $0 != UInt8(ascii: "~") })
    else {
      throw RemoteCacheError(
        .invalidNamespace, "the namespace",
        problem: "it is empty, too long, or has other characters",
        remedy: "use 1 to 128 letters, digits, '.', '_' and '-'")
    }
    guard secret.count >= 16 else {
      throw RemoteCacheError(
        .weakSecret, "the secret of the remote tier",
        problem: secret.isEmpty ? "it is empty" : "it has fewer than 16 bytes",
        remedy: "make one with: openssl rand -hex 32")
    }
    self.servers = servers
    self.namespace = namespace
    self.secret = secret
    self.mode = mode
  }

  /// All settings but the secret, so that a dump has none.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "servers": servers, "namespace": namespace, "mode": mode,
        "maximumBodyBytes": maximumBodyBytes, "limits": limits, "maximumLookUps": maximumLookUps,
        "maximumWaitingOffers": maximumWaitingOffers, "maximumWaitingBytes": maximumWaitingBytes,
        "uploads": uploads,
      ])
  }

  /// The name of the tier among all tiers: 32 hex digits that depend on its servers, its namespace and its
  /// secret, of which they tell nothing.
  package var identity: String {
    let lines = [namespace] + servers.map(\.base.string).sorted()
    let code = MessageDigest.authenticationCode(
      of: Array(lines.joined(separator: "\n").utf8), key: secret, .sha256)
    return String(code.hexadecimal.prefix(32))
  }
}

/// The time limits of requests to a remote tier.
public struct RemoteTimeLimits: Sendable, Hashable {
  /// The limit for a connection, with the look-up of the name.
  public var connect = Duration.milliseconds(250)
  /// The limit for the first byte of an answer, and for each pause in it.
  public var firstByte = Duration.milliseconds(500)
  /// The limit for a whole answer, to which ``perMegabyte`` is added for each MB of a body.
  public var whole = Duration.seconds(2)
  /// The time for each MB of a body.
  public var perMegabyte = Duration.seconds(1)
  /// The limit for the first byte of the answer to an upload, which nobody waits for.
  public var upload = Duration.seconds(10)
  /// The time after which a purge is looked for once more: two machines that purge at once may
  /// replace each other's list where the server ignores conditions.
  public var settle = Duration.seconds(1)

  /// Creates the default limits.
  public init() {}
}

/// Something that the owner of a remote tier should know.
public enum RemoteNotice: Sendable, Hashable, CustomStringConvertible {
  /// A server has refused the credentials, and is not asked any more.
  case switchedOff(server: String, status: Int)
  /// A server does not accept uploads, so nothing is written to it any more.
  case readOnly(server: String, status: Int)
  /// A body does not have the promised length or SHA-256.
  case wrongBytes(server: String, key: String)

  /// The notice as text, with what to do.
  public var description: String {
    switch self {
    case .switchedOff(let server, let status):
      "\(server): the remote tier is switched off: the server answers \(status); check the "
        + "credentials, and that they may read"
    case .readOnly(let server, let status):
      "\(server): nothing is written to the remote tier any more: the server answers \(status); "
        + "check that the credentials may write, or choose the mode 'read'"
    case .wrongBytes(let server, let key):
      "\(server): the body of '\(key)' is not the one that was stored; it was not used; check the "
        + "server's disk, and who can write to it"
    }
  }
}
