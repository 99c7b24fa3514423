/// Tells how far a download is.
public struct DownloadProgress: Sendable, Hashable {
  /// Names what it does.
  public enum Phase: Sendable, Hashable {
    /// It waits for its turn, or for another process that downloads the same file.
    case waiting
    /// It asks the server, or receives.
    case receiving
    /// It was paused.
    case paused
    /// It tries again after a while.
    case retrying(DownloadError)
    /// It is finished: the file is there.
    case finished
    /// It ended without the file.
    case failed(DownloadError)
  }

  /// Names what it does.
  public var phase: Phase = .waiting

  /// Counts the bytes of the file that are there.
  public var received: UInt64 = 0

  /// Counts those of them that were there before: left by an earlier call, or the whole of a file that
  /// was good already.
  public var resumed: UInt64 = 0

  /// Gives the length of the whole file in bytes; nil: not known, or not yet.
  public var total: UInt64?

  /// Gives the bytes per second of the last five seconds; nil: nothing has come yet.
  public var bytesPerSecond: Double?

  /// Makes the progress of one that waits.
  public init() {}

  /// Tells whether nothing more will be told.
  public var isOver: Bool {
    switch phase {
    case .finished, .failed: true
    default: false
    }
  }
}

/// Measures the rate at which bytes come.
struct RateMeter {
  private static let window = Duration.seconds(5)
  private static let step = Duration.milliseconds(500)

  private var samples: [(time: ContinuousClock.Instant, received: UInt64)] = []

  /// Notes how many bytes have come in all, and returns the rate of the last seconds.
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

  /// Forgets what was: the time that it stood still does not count.
  mutating func restart() {
    samples = []
  }
}
