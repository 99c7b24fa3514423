/// A reason to stop the benchmark.
enum BenchmarkError: Error, CustomStringConvertible {
  /// The person pressed Ctrl-C.
  case interrupted
  /// The command line makes no sense.
  case usage(String)
  /// Something under measurement failed: which system, doing what, and why.
  case failed(String)
  /// A system answered with other bytes than were stored, or with none.
  case wrongAnswer(system: String, key: String)

  /// What is shown to people.
  var description: String {
    switch self {
    case .interrupted: "interrupted; the working folder was removed"
    case .usage(let text): text
    case .failed(let text): text
    case .wrongAnswer(let system, let key):
      "\(system) did not return what was stored for \(key); the measurement is void"
    }
  }

  /// The exit code of the process: 64 for usage (sysexits.h), 130 for Ctrl-C, 2 for the rest.
  var exitCode: Int32 {
    switch self {
    case .interrupted: 130
    case .usage: 64
    case .failed, .wrongAnswer: 2
    }
  }
}
