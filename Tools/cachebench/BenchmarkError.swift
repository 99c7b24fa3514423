struct BenchmarkError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  static func wrongAnswer(system: String, key: String) -> BenchmarkError {
    BenchmarkError("\(system) did not return what was stored for \(key); the measurement is void")
  }
}
