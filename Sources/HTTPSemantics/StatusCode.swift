/// Sorts status codes by what a cache may do with them.
enum StatusCode {
  /// Tells whether responses with the status may be given a heuristic lifetime (RFC 9110, section
  /// 15.1).
  static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// Tells whether this package knows what the status means for a cache, as `must-understand` asks
  /// (RFC 9111, section 5.2.2.3): the final ones of RFC 9110, section 15.
  static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 200...206, 300...305, 307, 308, 400...417, 421, 422, 426, 500...505: true
    default: false
    }
  }

  /// Tells whether the status stands for a server that failed, as `stale-if-error` means it (RFC
  /// 5861, section 4).
  static func isServerFailure(_ status: Int) -> Bool {
    switch status {
    case 500, 502, 503, 504: true
    default: false
    }
  }
}
