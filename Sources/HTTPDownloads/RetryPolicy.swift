import HTTPTransports

struct RetryPolicy: Sendable {
  /// The limit of retries in a row that bring no byte.
  let maximumRetries: Int
  /// The delay before the first retry. It is doubled with each further one.
  let delay: Duration
  /// The longest delay. If a server asks for more, there is no retry.
  let maximumDelay: Duration

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

  /// Returns the delay before a retry, or `nil` if there is to be none.
  ///
  /// - Parameters:
  ///   - retry: The number of retries since the last byte was received.
  ///   - stated: The seconds that the server asked for.
  ///   - random: A number from 0 to 1, so that many clients do not retry at the same time.
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
