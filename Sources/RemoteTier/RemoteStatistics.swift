/// The numbers of a remote tier since it was created.
public struct RemoteStatistics: Sendable, Hashable {
  /// The state of one server.
  public struct Server: Sendable, Hashable {
    /// The base URL.
    public let url: String
    /// `closed` (in use), `open` (not asked after failures), `probing`, or `off` (it has refused
    /// the credentials).
    public let reading: String
    /// The same for uploads.
    public let writing: String
  }

  /// The look-ups that found a response.
  public internal(set) var hits: UInt64 = 0
  /// The look-ups that found none, by reason.
  public internal(set) var misses: [RemoteReason: UInt64] = [:]
  /// The bytes of the bodies that were found.
  public internal(set) var bytesRead: UInt64 = 0
  /// The offers that are on a server now.
  public internal(set) var offersStored: UInt64 = 0
  /// The offers that failed, by reason.
  public internal(set) var offersFailed: [RemoteReason: UInt64] = [:]
  /// The offers that were dropped because too many waited.
  public internal(set) var offersDropped: UInt64 = 0
  /// The offers that wait.
  public internal(set) var offersWaiting = 0
  /// The bytes of the bodies that were uploaded.
  public internal(set) var bytesWritten: UInt64 = 0
  /// The number of the newest purge.
  public internal(set) var newestPurge: UInt64 = 0
  /// The servers, in the order of the options.
  public internal(set) var servers: [Server] = []
}
