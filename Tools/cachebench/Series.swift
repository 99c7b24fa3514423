/// Collects what single operations took, and what whole slices of them took.
struct Series: Sendable {
  /// Nanoseconds of every single operation, in the order they ran.
  private(set) var operations: [UInt64] = []
  /// Mean nanoseconds per operation of every slice, work it left to the background included.
  private(set) var sliceMeans: [Double] = []
  private(set) var total: UInt64 = 0
  /// Nanoseconds that may be spent; what comes after is not run, and the output shows it.
  var budget: UInt64 = .max

  var isExhausted: Bool { total >= budget }

  mutating func addToSlices(_ nanoseconds: UInt64) {
    total &+= nanoseconds
    let share = Double(nanoseconds) / Double(max(1, operations.count))
    for place in sliceMeans.indices { sliceMeans[place] += share }
  }

  /// Adds a slice.
  ///
  /// - Parameter wall: nanoseconds of all its operations, or from the start of the first one to the end of
  ///   the last one if several threads ran them, with the work that they left to the background.
  mutating func add(slice: [UInt64], wall: UInt64) {
    guard !slice.isEmpty else { return }
    operations += slice
    total &+= wall
    sliceMeans.append(Double(wall) / Double(slice.count))
  }

  /// Returns the figures that are printed; nil when nothing ran.
  func summary() -> Summary? {
    guard !operations.isEmpty else { return nil }
    let sorted = operations.sorted()
    func quantile(_ share: Double) -> Double {
      Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))])
    }
    return Summary(
      operations: sorted.count, sliceMean: median(sliceMeans),
      median: quantile(0.5), p99: quantile(0.99), p999: quantile(0.999))
  }
}

/// The figures of one series, all times in nanoseconds.
struct Summary: Sendable {
  var operations: Int
  /// The median over slices of the mean per operation: the figure that ratios are made of.
  var sliceMean: Double
  var median: Double
  var p99: Double
  var p999: Double

  var operationsPerSecond: Double { sliceMean > 0 ? 1e9 / sliceMean : 0 }
}

func median(_ values: [Double]) -> Double {
  guard !values.isEmpty else { return 0 }
  let sorted = values.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
