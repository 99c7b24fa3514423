import HTTPTransports

/// The time limits of one task. URLSession has one of its own, in whole seconds on Linux.
struct SessionLimits {
  typealias Instant = ContinuousClock.Instant

  private let options: TransportOptions
  private let began: Instant
  /// The last time when the server gave a sign of life, or nothing was expected of it.
  private var lastSign: Instant
  private var hasSign = false
  /// Whether the task waits for a network, with no limit but that of the whole transfer.
  private var waitsForNetwork = false

  struct Next: Hashable {
    /// The time until then, or until it has to be looked at again; 0 or less once it is reached.
    let left: Duration
    let detail: String
  }

  init(_ options: TransportOptions, now: Instant) {
    self.options = options
    began = now
    lastSign = now
  }

  var areNone: Bool {
    options.connectTimeout == nil && options.idleTimeout == nil && options.wholeTimeout == nil
  }

  /// Notes that the server, or the network, does something.
  mutating func noteSign(now: Instant) {
    lastSign = now
    hasSign = true
    waitsForNetwork = false
  }

  mutating func noteWaiting() { waitsForNetwork = true }

  /// Returns the limit that will be reached next, or `nil` without one.
  ///
  /// - Parameter isWaitingHere: whether the server waits for the reader, or for the source of the
  ///   request's body.
  mutating func next(now: Instant, isWaitingHere: Bool) -> Next? {
    if isWaitingHere { lastSign = now }
    let limit =
      hasSign ? options.idleTimeout : Self.sum(options.connectTimeout, options.idleTimeout)
    let silence =
      if waitsForNetwork {
        limit.map { _ in Duration.seconds(1) }
      } else if isWaitingHere {
        // The wait may end at any time. The limit counts from about then.
        limit.map { min($0 / 8, .seconds(1)) }
      } else {
        limit.map { $0 - (now - lastSign) }
      }
    let whole = options.wholeTimeout.map { $0 - (now - began) }
    return [
      silence.map { Next(left: $0, detail: "no byte came") },
      whole.map { Next(left: $0, detail: "the whole time is over") },
    ].compactMap(\.self).min { $0.left < $1.left }
  }

  private static func sum(_ one: Duration?, _ other: Duration?) -> Duration? {
    guard let one, let other else { return one ?? other }
    return one + other
  }
}
