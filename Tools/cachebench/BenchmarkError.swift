/// A reason to stop the benchmark: which system failed, doing what, and why.
struct BenchmarkError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  /// A system answered with other bytes than were stored, or with none.
  static func wrongAnswer(system: String, key: String) -> BenchmarkError {
    BenchmarkError(
      "\(system) did not return what was stored for \(key); the measurement is void")
  }
}
