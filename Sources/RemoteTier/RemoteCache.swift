import CacheFormat
import CacheSystem
import HTTPSemantics
public import HTTPTransports

/// A second tier of a cache: many machines share responses through servers that store objects by
/// name.
///
/// It knows nothing about HTTP caching: whoever uses it decides what is offered, and which response
/// of a document answers a request. Each request to a server has the time limits of the options, and
/// offers run in the background. Everything that a server sends is checked: documents by their
/// signature, bodies by their SHA-256.
public final class RemoteCache: Sendable {
  /// The time by which the clock of another machine may be ahead, in seconds.
  package static let clockTolerance = 5.0

  /// The set-up.
  public let options: RemoteCacheOptions

  let servers: [TierServer]
  let clock: TierClock
  let absent = AbsentNames()
  let blocked = BlockedNames()
  package let purges: PurgeFollower
  let queue: UploadQueue
  /// A key whose document must be emptied.
  struct Unemptied {
    /// The numbers of the servers that have not done it, with the times before which they are not
    /// asked again.
    var servers: [Int: Int64] = [:]
    /// Whether that waits in the queue.
    var isWaiting = false
  }

  /// The keys whose documents are not emptied yet.
  let unemptied = Lock<[ByteString: Unemptied]>([:])
  /// The digests of bodies of which a server has other bytes.
  let damagedBodies = Lock<Set<[UInt8]>>([])
  private let names: [String]
  private let numbers = Lock(RemoteStatistics())

  /// Creates a tier; nothing is sent yet.
  ///
  /// - Parameters:
  ///   - options: The set-up.
  ///   - transport: Sends the requests. It must not go through a cache, and must not follow
  ///     redirects. One for the tier alone keeps its connections apart from those to origins.
  public convenience init(options: RemoteCacheOptions, transport: any HTTPTransport) {
    self.init(options: options, transport: transport, clock: TierClock())
  }

  package init(options: RemoteCacheOptions, transport: any HTTPTransport, clock: TierClock) {
    self.options = options
    self.clock = clock
    servers = options.servers.map {
      TierServer($0, options, transport: transport, clock: clock)
    }
    names = servers.map(\.url)
    purges = PurgeFollower(servers, options, clock)
    queue = UploadQueue(
      maximumCount: options.maximumWaitingOffers, maximumBytes: options.maximumWaitingBytes,
      atOnce: options.uploads)
  }

  deinit { queue.close() }

  /// The numbers since the tier was created.
  public var statistics: RemoteStatistics {
    var result = numbers.withLock { $0 }
    let counts = queue.counts
    result.offersWaiting = counts.waiting
    result.offersDropped = counts.dropped
    result.newestPurge = purges.list.newest
    result.servers = servers.map(\.statistics)
    return result
  }

  /// Waits until all offers have been uploaded, have failed, or were dropped.
  public func drain() async { await queue.drain() }

  /// Drops the offers that wait, and accepts no more.
  public func close() { queue.close() }

  func count(_ change: (inout RemoteStatistics) -> Void) {
    numbers.withLock { change(&$0) }
  }

  /// Returns the first available server for a name.
  ///
  /// - Throws: the reason why the first choice is not available, if none is.
  func server(for name: ObjectName, _ use: TierServer.Use) throws(RemoteReason) -> TierServer {
    var first: RemoteReason?
    for index in Rendezvous.order(names, for: name) {
      guard let refusal = servers[index].refusal(of: use) else { return servers[index] }
      first = first ?? refusal
    }
    throw first ?? .unreachable
  }

  /// The most digests of damaged bodies; when there are more, all are forgotten.
  private static let maximumDamaged = 1_000

  /// Notes that a server has other bytes under the name of a body: the next offer of it replaces them.
  func noteDamaged(_ digest: [UInt8]) {
    damagedBodies.withLock { digests in
      if digests.count >= Self.maximumDamaged { digests = [] }
      digests.insert(digest)
    }
  }

  func name(of key: ByteString) -> ObjectName {
    .document(of: key, in: options.namespace)
  }

  /// Returns the document of a key from the bytes that a server gave.
  ///
  /// - Throws: the reason why it is not used.
  func document(_ bytes: [UInt8], of key: ByteString) throws(RemoteReason) -> SharedDocument {
    let document: SharedDocument
    do throws(FormatError) {
      let inner = try SignedDocument.decode(bytes, secret: options.secret)
      document = try SharedDocument(decoding: inner)
    } catch {
      throw .badDocument
    }
    guard document.key == key, document.namespace == options.namespace else { throw .otherKey }
    return document
  }
}
