import HTTPTransport

/// Says which failures are tried again, and after what time.
struct RetryPolicy: Sendable {
  /// Bounds the tries in a row that bring no byte.
  let maximumRetries: Int
  /// Is waited before the first retry, and doubled with each.
  let delay: Duration
  /// Bounds one wait. A server that asks for more is not waited for.
  let maximumDelay: Duration

  /// Tells whether a failure may be gone when it is tried again.
  func mayRetry(_ cause: DownloadError.Cause) -> Bool {
    switch cause {
    case .transport(let error):
      switch error.code {
      case .cannotResolve, .cannotConnect, .timeout, .connectionLost, .truncatedBody: true
      default: false
      }
    case .status(let status): [408, 425, 429, 500, 502, 503, 504].contains(status)
    default: false
    }
  }

  /// Returns how long to wait before a retry; nil: it is not to be tried again.
  ///
  /// - Parameters:
  ///   - retry: Its number since the last byte came, from 0.
  ///   - stated: The seconds that the server asked for.
  ///   - random: From 0 to 1, so that many clients do not come back at once.
  func wait(before retry: Int, stated: Int64?, random: Double) -> Duration? {
    guard retry < maximumRetries else { return nil }
    if let stated {
      let asked = Duration.seconds(stated)
      return asked <= maximumDelay ? asked : nil
    }
    let longest = min(delay * (1 << min(retry, 20)), maximumDelay)
    return longest * (0.5 + random / 2)
  }
}
