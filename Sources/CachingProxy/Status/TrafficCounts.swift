/// Counts answers: of a second, of a minute, or since the start.
struct TrafficCounts: Sendable, Hashable {
  /// Counts the answers of each outcome, in the order of the cases.
  private var outcomes = InlineCounts()
  /// Counts the body bytes that went to clients.
  private(set) var sentBytes: UInt64 = 0
  /// Counts those of them that came from the origin.
  private(set) var fetchedBytes: UInt64 = 0
  /// Counts the answers that were not sent to their end.
  private(set) var cutShort: UInt64 = 0

  /// Takes note of an answer.
  mutating func add(_ outcome: AnswerOutcome, sent: UInt64, fetched: UInt64, isComplete: Bool) {
    outcomes[outcome] += 1
    sentBytes &+= sent
    fetchedBytes &+= fetched
    if !isComplete { cutShort += 1 }
  }

  /// Adds what another span of time has.
  static func += (left: inout TrafficCounts, right: TrafficCounts) {
    for outcome in AnswerOutcome.allCases { left.outcomes[outcome] += right[outcome] }
    left.sentBytes &+= right.sentBytes
    left.fetchedBytes &+= right.fetchedBytes
    left.cutShort += right.cutShort
  }

  /// Gives the answers of one outcome.
  subscript(outcome: AnswerOutcome) -> UInt64 { outcomes[outcome] }

  /// Gives all answers.
  var all: UInt64 { AnswerOutcome.allCases.reduce(0) { $0 + self[$1] } }

  /// Gives the answers that came from the store without waiting for the origin.
  var fromStore: UInt64 { self[.hit] + self[.stale] }

  /// Gives the share of the answers that came from the store without waiting for the origin, among
  /// all that a cache may answer; nil where there were none.
  var hitRate: Double? {
    let possible = all - self[.bypass]
    return possible == 0 ? nil : Double(fromStore) / Double(possible)
  }

  /// Gives the bytes that clients got without the origin sending them.
  var savedBytes: UInt64 { sentBytes - min(sentBytes, fetchedBytes) }
}

/// Holds one number for each outcome, in place.
private struct InlineCounts: Sendable, Hashable {
  private var hit: UInt64 = 0
  private var stale: UInt64 = 0
  private var revalidated: UInt64 = 0
  private var miss: UInt64 = 0
  private var bypass: UInt64 = 0
  private var error: UInt64 = 0

  subscript(outcome: AnswerOutcome) -> UInt64 {
    get {
      switch outcome {
      case .hit: hit
      case .stale: stale
      case .revalidated: revalidated
      case .miss: miss
      case .bypass: bypass
      case .error: error
      }
    }
    set {
      switch outcome {
      case .hit: hit = newValue
      case .stale: stale = newValue
      case .revalidated: revalidated = newValue
      case .miss: miss = newValue
      case .bypass: bypass = newValue
      case .error: error = newValue
      }
    }
  }
}
