/// Adds up entries and bytes by name, with a limit on the number of names.
///
/// If there are too many names, the half with the fewest bytes is removed. A removed name that
/// occurs again starts at zero; by then the important names are far ahead.
struct WeightedNames: Sendable {
  static let maximumNames = 4096

  private var sums: [String: Weight] = [:]

  struct Weight: Sendable, Hashable {
    var name: String
    var entries: UInt64 = 0
    var bytes: UInt64 = 0
  }

  /// Adds an entry.
  mutating func add(_ name: String, bytes: UInt64) {
    if sums[name] == nil && sums.count >= Self.maximumNames { halve() }
    sums[name, default: Weight(name: name)].entries += 1
    sums[name]?.bytes &+= bytes
  }

  /// Returns the names with the most bytes, the most bytes first.
  func heaviest(_ count: Int) -> [Weight] {
    Array(sums.values.sorted(by: Self.isHeavier).prefix(count))
  }

  private mutating func halve() {
    let kept = sums.values.sorted(by: Self.isHeavier).prefix(Self.maximumNames / 2)
    sums = Dictionary(uniqueKeysWithValues: kept.map { ($0.name, $0) })
  }

  private static func isHeavier(_ a: Weight, _ b: Weight) -> Bool {
    (a.bytes, a.entries, b.name) > (b.bytes, b.entries, a.name)
  }
}
