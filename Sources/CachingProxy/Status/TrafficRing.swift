/// The counts of the newest spans of time, all of the same length.
///
/// A place is reused when its turn comes again, so nothing has to be cleared in between. If the
/// clock jumps, only the skipped spans are lost.
struct TrafficRing: Sendable {
  private let spanSeconds: Int64
  private var places: [Place]

  private struct Place: Sendable {
    /// The number of the span, counted from 1970; negative before the first use.
    var span: Int64 = -1
    var counts = TrafficCounts()
  }

  /// Creates a ring of `count` spans of `spanSeconds` seconds.
  init(spanSeconds: Int64, count: Int) {
    self.spanSeconds = spanSeconds
    places = Array(repeating: Place(), count: count)
  }

  /// Records an answer that ended at a second since 1970.
  mutating func add(_ record: AnswerRecord, _ account: AnswerRecord.Account, at second: Int64) {
    let span = max(0, second) / spanSeconds
    let index = Int(span % Int64(places.count))
    if places[index].span != span { places[index] = Place(span: span) }
    places[index].counts.add(record, account)
  }

  /// Returns the counts of all spans up to that of a second since 1970, the oldest first.
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

struct TrafficSpan: Sendable, Hashable {
  /// The beginning of the span, in seconds since 1970.
  var start: Int64
  var counts: TrafficCounts
}
