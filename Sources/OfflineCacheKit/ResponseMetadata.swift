/// The source of a response, its age, and the reason for its use.
public struct ResponseMetadata: Sendable, Hashable {
  /// The place the body came from.
  public enum Source: String, Sendable, Hashable {
    /// A server has sent it now.
    case network
    /// The store had it in memory.
    case memory
    /// The store had it on disk.
    case disk
    /// A file that ships with the program was used for the URL.
    case substitute
    /// A file that was downloaded earlier, see ``download``.
    case file
  }

  /// The place the body came from.
  public let source: Source

  /// The seconds since the origin made or confirmed the response (RFC 9111, section 4.2.3).
  public let age: TimeInterval

  /// The seconds for which the response stays fresh, by the caller's `expiresAfter` if it has one, or
  /// until the downloaded file expires; negative after that. `nil` if that is not known.
  public let freshness: TimeInterval?

  /// The file that the response was downloaded to; `nil` for all other responses, and for a
  /// substitute that was written to a file.
  public internal(set) var download: DownloadMetadata?

  /// Whether the response is stale: it was used because there was no better one, or because that is
  /// allowed. One that the server has just sent or confirmed is not.
  public var isStale: Bool {
    guard source != .network, source != .substitute, status.forwardStatus != 304 else {
      return false
    }
    return standIn != nil || freshness.map { $0 <= 0 } ?? false
  }

  /// The reason why this response was used, in a few words: why the network was asked, or why not.
  public var reason: String {
    guard source != .substitute, let standIn else { return why.description }
    return (source == .file ? "it was downloaded before" : "it is stored") + ", and \(standIn)"
  }

  /// The reason for machines, as the field `Cache-Status` gives it (RFC 9211).
  public var cacheStatus: String { status.description }

  /// The reason for using what is there in place of the network; `nil` if that is not so.
  let standIn: StandIn?

  private let why: Why
  private let status: CacheStatus

  /// The reason as a value, because most callers never need the text.
  private enum Why: Hashable, CustomStringConvertible {
    case fresh(seconds: Int64)
    case stale(seconds: Int64)
    case ofFuture
    case forwarded(String)
    case download(DownloadedFile.Source)
    case unexpired
    case substitute

    var description: String {
      switch self {
      case .fresh(let seconds): "it is stored, and fresh for \(seconds) s"
      case .stale(seconds: 0): "it is stored, and may be served although it is not fresh"
      case .stale(let seconds): "it is stored, and may be served although stale for \(seconds) s"
      case .ofFuture: "it is stored, and may be served although \(ValidationReason.clockSetBack)"
      case .forwarded(let reason): reason
      case .unexpired: "it was downloaded before, and has not expired"
      case .download(.file): "it was downloaded before, and no newer response is stored"
      case .download(.confirmed): "it was downloaded before, and the server has confirmed it"
      case .download: "there was no file, or it was outdated"
      case .substitute: "a file that ships with the program answers for it"
      }
    }
  }

  /// - Parameter standIn: The reason for using a stored response in place of the network; `nil` if
  ///   that is not so.
  init(_ response: ClientResponse, standIn: StandIn?) {
    source =
      switch response.source {
      case .network: .network
      case .memory: .memory
      case .disk: .disk
      case .substitute: .substitute
      }
    self.standIn = standIn ?? response.originError.map { .failure($0) }
    download = nil
    age = Self.statedAge(in: response.head.fields)
    status = Self.status(of: response)
    let isKept = response.source != .network || status.isStored
    let ttl = (isKept ? response.lifetimeLeft : nil) ?? status.ttl
    freshness = ttl.map { TimeInterval($0) }
    why =
      if response.source == .substitute {
        .substitute
      } else if let reason = response.reason {
        .forwarded(reason.description + Self.answer(of: response))
      } else if response.isOfFuture {
        .ofFuture
      } else if let ttl, ttl <= 0 {
        .stale(seconds: -ttl)
      } else {
        .fresh(seconds: ttl ?? 0)
      }
  }

  /// Returns the seconds of the field `Age`; 0 if it has none (RFC 9111, section 5.1). Like the rules,
  /// it reads the first member of the first line.
  private static func statedAge(in fields: HTTPFields) -> TimeInterval {
    guard let field = fields.first(named: "Age") else { return 0 }
    let digits = Array(FieldBytes.trimmed(field.value.prefix { $0 != UInt8(ascii: ",") }))
    return TimeInterval(digits.withSpan { DeltaSeconds.parse($0) } ?? 0)
  }

  /// Returns what the server has said about a stored response, for the end of the reason why it was
  /// asked; empty for its own response.
  private static func answer(of response: ClientResponse) -> String {
    switch response.cacheStatus.forwardStatus {
    case 304?: "; the server has confirmed it"
    case let status?: "; the server has answered \(status)"
    case nil: ""
    }
  }

  /// Returns the status of the response. If the store has failed or does not take it, it does not state
  /// that the response is stored, but why not.
  private static func status(of response: ClientResponse) -> CacheStatus {
    var status = response.cacheStatus
    guard case .notStored(let why) = response.body.storing else { return status }
    if case .forbidden = why { return status }
    status.isStored = false
    status.detail = why.description
    return status
  }

  init(_ file: DownloadedFile, now: Int64, standIn: StandIn?) {
    let download = DownloadMetadata(file)
    // Computed in whole nanoseconds: current dates as seconds have steps of 240 ns.
    func seconds(_ end: Int64, since start: Int64) -> TimeInterval {
      let (difference, isBeyond) = end.subtractingReportingOverflow(start)
      return (isBeyond ? TimeInterval(end) - TimeInterval(start) : TimeInterval(difference)) / 1e9
    }
    let record = file.record
    self.download = download
    self.standIn = standIn
    age =
      Self.statedAge(in: record.head.fields)
      + max(0, seconds(now, since: record.lastGiven.nanoseconds))
    freshness = record.expires.map { seconds($0.nanoseconds, since: now) }
    source = file.source == .file ? .file : .network
    status = CacheStatus(
      cacheName: "OfflineCache", isHit: file.source == .file,
      forward: file.source == .file ? nil : .bypass)
    why = source == .file && freshness ?? 0 > 0 ? .unexpired : .download(file.source)
  }
}
