/// Holds the counts of the newest spans of time, all of the same length.
///
/// A place is used again when its time has come round, so nothing has to be cleared meanwhile, and
/// a clock that jumps loses what it jumped over, no more.
struct TrafficRing: Sendable {
  /// The length of a span in seconds.
  let spanSeconds: Int64
  private var places: [Place]

  private struct Place: Sendable {
    /// Which span since 1970; negative before the first use.
    var span: Int64 = -1
    var counts = TrafficCounts()
  }

  /// Makes a ring of `count` spans of `spanSeconds` seconds.
  init(spanSeconds: Int64, count: Int) {
    self.spanSeconds = spanSeconds
    places = Array(repeating: Place(), count: count)
  }

  /// Gives the number of spans.
  var count: Int { places.count }

  /// Takes note of an answer that ended at a second since 1970.
  ///
  /// - Complexity: O(1)
  mutating func add(
    _ outcome: AnswerOutcome, sent: UInt64, fetched: UInt64, isComplete: Bool, at second: Int64
  ) {
    let span = max(0, second) / spanSeconds
    let index = Int(span % Int64(places.count))
    if places[index].span != span { places[index] = Place(span: span) }
    places[index].counts.add(outcome, sent: sent, fetched: fetched, isComplete: isComplete)
  }

  /// Gives the counts of all spans up to the one of a second since 1970, the oldest first.
  func counts(upTo second: Int64) -> [TrafficSpan] {
    let last = max(0, second) / spanSeconds
    return (0..<Int64(places.count)).reversed().map { back in
      let span = last - back
      var found = TrafficSpan(start: span * spanSeconds, counts: TrafficCounts())
      guard span >= 0 else { return found }
      let place = places[Int(span % Int64(places.count))]
      if place.span == span { found.counts = place.counts }
      return found
    }
  }
}

/// Holds the counts of one span of time.
struct TrafficSpan: Sendable, Hashable {
  /// When the span begins, in seconds since 1970.
  var start: Int64
  var counts: TrafficCounts
}
