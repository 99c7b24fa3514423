/// The counts of answers: of a second, of a minute, or since the start.
struct TrafficCounts: Sendable, Hashable {
  /// The number of answers of each outcome, in the order of the cases.
  private var outcomes = SIMD8<UInt64>()
  /// The body bytes that were sent to clients.
  private(set) var sentBytes: UInt64 = 0
  /// The part of these bytes that came from the origin.
  private(set) var fetchedBytes: UInt64 = 0
  /// The number of answers that were not sent completely.
  private(set) var cutShort: UInt64 = 0
  /// The number of answers that were not stored because the store failed.
  private(set) var notStored: UInt64 = 0

  mutating func add(_ record: AnswerRecord, _ account: AnswerRecord.Account) {
    outcomes[account.outcome.rawValue] += 1
    sentBytes &+= record.bytesSent
    fetchedBytes &+= account.fetchedBytes
    if !record.isComplete { cutShort += 1 }
    if record.storingFailure != nil { notStored += 1 }
  }

  static func += (left: inout TrafficCounts, right: TrafficCounts) {
    left.outcomes &+= right.outcomes
    left.sentBytes &+= right.sentBytes
    left.fetchedBytes &+= right.fetchedBytes
    left.cutShort += right.cutShort
    left.notStored += right.notStored
  }

  subscript(outcome: AnswerOutcome) -> UInt64 { outcomes[outcome.rawValue] }

  var all: UInt64 { outcomes.wrappedSum() }

  /// The number of answers that came from the store without waiting for the origin.
  var fromStore: UInt64 { self[.hit] + self[.stale] }

  /// The share of answers that came from the store without waiting for the origin, among all that a
  /// cache may answer; `nil` if there are none.
  var hitRate: Double? {
    let possible = all - self[.bypass]
    return possible == 0 ? nil : Double(fromStore) / Double(possible)
  }

  /// The bytes that clients received without the origin sending them.
  var savedBytes: UInt64 { sentBytes - min(sentBytes, fetchedBytes) }
}

/// The counts of the tunnels since the start.
struct TunnelCounts: Sendable, Hashable {
  var began: UInt64 = 0
  private(set) var ended: UInt64 = 0
  /// The bytes to and from clients, of the tunnels that have ended.
  private(set) var sentBytes: UInt64 = 0
  private(set) var receivedBytes: UInt64 = 0

  var open: UInt64 { began - min(began, ended) }

  mutating func end(_ record: AnswerRecord) {
    ended += 1
    sentBytes &+= record.bytesSent
    receivedBytes &+= record.bytesReceived
  }
}
