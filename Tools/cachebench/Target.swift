/// Something the store must reach, with what it did reach.
struct Target: Sendable {
  /// What is compared, in words.
  var what: String
  /// What was measured.
  var value: Double
  /// Whether the bound is the most or the least.
  var isUpperBound: Bool
  /// What must be reached.
  var bound: Double
  /// How many decimals are shown.
  var decimals = 2
  /// The same comparison made of the medians of single operations: a busy machine moves it less.
  var byMedians: Double?

  /// Tells whether it was reached.
  var isReached: Bool { isUpperBound ? value <= bound : value >= bound }

  /// The target as one line for people.
  var line: String {
    let relation = isUpperBound ? "at most" : "at least"
    let figure = decimals == 0 ? grouped(Int(value)) : fixed(value, decimals)
    let limit = decimals == 0 ? grouped(Int(bound)) : fixed(bound, decimals)
    let aside = byMedians.map { " (by medians of operations \(fixed($0, decimals)))" } ?? ""
    return "\(isReached ? "reached    " : "NOT REACHED") \(what): \(figure), \(relation) \(limit)"
      + aside
  }

  /// Returns the targets that the rows of a workload can be held against.
  static func all(for rows: [Row]) -> [Target] {
    let single = rows.filter { $0.threads == 1 }
    return hit(single) + fill(single) + rates(single) + evict(single) + durable(rows)
      + open(single) + decision(single)
  }

  private static func decision(_ rows: [Row]) -> [Target] {
    rows.filter { $0.work == "rules" }.map { row in
      Target(
        what: "decision for a hit (fields, freshness, Vary), microseconds",
        value: row.summary.sliceMean / 1000, isUpperBound: true, bound: 2)
    }
  }

  private static func hit(_ rows: [Row]) -> [Target] {
    comparisons(
      rows, "hit",
      [
        ("hit, times the floor", .store, .floor, true, 1.3),
        ("hit, times faster than tuned SQLite", .sqliteTuned, .store, false, 8),
        ("hit, times faster than SQLite with default settings", .sqlite, .store, false, 100),
      ])
  }

  private static func fill(_ rows: [Row]) -> [Target] {
    comparisons(
      rows, "fill",
      [
        ("store, times the floor", .store, .floor, true, 1.1),
        ("store, speed of tuned SQLite", .sqliteTuned, .store, false, 0.9),
        ("store, times faster than SQLite with default settings", .sqlite, .store, false, 8),
      ])
  }

  private static func durable(_ rows: [Row]) -> [Target] {
    comparisons(
      rows, "durable",
      [
        (
          "durable store, 8 threads, times faster than SQLite with default settings", .sqlite,
          .store, false, 3
        )
      ])
  }

  private static func rates(_ rows: [Row]) -> [Target] {
    [("hit-memory", 3_000_000.0), ("miss", 5_000_000.0)].compactMap { work, bound in
      rows.first { $0.work == work && $0.system == .store }.map { row in
        Target(
          what: "\(work) a second, one thread", value: row.summary.operationsPerSecond,
          isUpperBound: false, bound: bound, decimals: 0)
      }
    }
  }

  private static func evict(_ rows: [Row]) -> [Target] {
    guard let full = rows.first(where: { $0.work == "evict" }),
      let below = rows.first(where: { $0.work == "evict-below" })
    else { return [] }
    return [
      Target(
        what: "store at the limit, of the rate below it",
        value: below.summary.sliceMean / full.summary.sliceMean, isUpperBound: false, bound: 0.75)
    ]
  }

  /// The targets speak of a million entries; smaller stores are held against their share of it,
  /// down to the size where what a process needs anyway hides what an entry needs.
  private static func open(_ rows: [Row]) -> [Target] {
    rows.filter { $0.work == "open" && $0.entries >= 100_000 }.flatMap { row in
      [
        Target(
          what: "open \(grouped(row.entries)) entries, seconds", value: row.seconds ?? 0,
          isUpperBound: true, bound: Double(row.entries) / 1e6),
        Target(
          what: "open \(grouped(row.entries)) entries, bytes of memory an entry",
          value: row.bytesPerEntry ?? 0, isUpperBound: true, bound: 150, decimals: 0),
      ]
    }
  }

  private typealias Comparison = (String, SystemName, SystemName, Bool, Double)

  /// Divides the time of one system by that of another.
  private static func comparisons(
    _ rows: [Row], _ work: String, _ list: [Comparison]
  ) -> [Target] {
    list.compactMap { what, upper, lower, isUpperBound, bound in
      guard let above = rows.first(where: { $0.work == work && $0.system == upper }),
        let below = rows.first(where: { $0.work == work && $0.system == lower })
      else { return nil }
      var target = Target(
        what: what, value: above.summary.sliceMean / below.summary.sliceMean,
        isUpperBound: isUpperBound, bound: bound)
      // With several threads the times of operations overlap, and their median says little.
      if above.threads == 1 { target.byMedians = above.summary.median / below.summary.median }
      return target
    }
  }
}
