/// The progress of a download.
public struct DownloadProgress: Sendable, Hashable {
  /// A step of a download.
  public enum Phase: Sendable, Hashable {
    /// Waits for its turn, or for another process that downloads the same file.
    case waiting
    /// Sends a request, or receives bytes.
    case receiving
    /// Is paused.
    case paused
    /// Waits for a retry after an error.
    case retrying(DownloadError)
    /// Has finished: the file is there.
    case finished
    /// Has ended without the file.
    case failed(DownloadError)
  }

  /// The present step.
  public var phase: Phase = .waiting

  /// The number of bytes of the file that are there.
  public var received: UInt64 = 0

  /// The number of these bytes that were there before: from an interrupted download, or from a file
  /// that is used again.
  public var resumed: UInt64 = 0

  /// The length of the whole file in bytes, or `nil` if it is not known.
  public var total: UInt64?

  /// The bytes per second of the last five seconds in which bytes came, or `nil` if none came in this
  /// phase.
  public var bytesPerSecond: Double?

  package init() {}

  /// Whether the download is over.
  public var isOver: Bool {
    switch phase {
    case .finished, .failed: true
    default: false
    }
  }
}

struct RateMeter {
  private static let window = Duration.seconds(5)
  private static let step = Duration.milliseconds(500)

  private var samples: [(time: ContinuousClock.Instant, received: UInt64)] = []

  /// Records the number of bytes so far, and returns the rate of the last seconds.
  mutating func note(_ received: UInt64, at now: ContinuousClock.Instant) -> Double? {
    if let last = samples.last, received < last.received { samples = [] }
    if samples.last.map({ now - $0.time >= Self.step }) ?? true {
      samples.append((now, received))
      while samples.count > 2, now - samples[0].time > Self.window { samples.removeFirst() }
    }
    let (start, bytes) = samples[0]
    let seconds = (now - start) / .seconds(1)
    guard seconds >= 0.1 else { return nil }
    return Double(received - bytes) / seconds
  }

  /// Begins anew, so that a pause does not count.
  mutating func restart() {
    samples = []
  }
}
