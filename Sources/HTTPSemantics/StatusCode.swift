enum StatusCode {
  /// Returns whether responses with the status may have a heuristic lifetime (RFC 9110, section
  /// 15.1).
  static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// Returns whether this package supports the status for `must-understand` (RFC 9111, section
  /// 5.2.2.3): the final ones of RFC 9110, section 15.
  static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 200...206, 300...305, 307, 308, 400...417, 421, 422, 426, 500...505: true
    default: false
    }
  }

  /// Returns whether the status means a failure of the server for `stale-if-error` (RFC 5861,
  /// section 4).
  static func isServerFailure(_ status: Int) -> Bool {
    switch status {
    case 500, 502, 503, 504: true
    default: false
    }
  }
}
