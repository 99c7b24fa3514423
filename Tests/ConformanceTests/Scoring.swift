/// Tells what a case says of a cache, once the cases that it depends on are looked at.
enum Verdict: Sendable, Hashable {
  case passed
  case failed(String)
  /// A case that this one depends on has not passed.
  case dependency(String)
  case setup(String)
  case retried
  /// The case was not played.
  case untested

  /// Says in a few words what is wrong; empty where nothing is.
  var reason: String {
    switch self {
    case .passed: ""
    case .failed(let text): text
    case .dependency(let id): "depends on \(id), which does not pass"
    case .setup(let text): "cannot be set up: \(text)"
    case .retried: "the origin got a request twice"
    case .untested: "was not played"
    }
  }
}

/// Holds the outcomes of many cases and says what they are worth.
struct Scores {
  let cases: [ConformanceCase]
  private let byID: [String: ConformanceCase]
  private let outcomes: [String: Outcome]

  init(_ cases: [ConformanceCase], outcomes: [String: Outcome]) {
    self.cases = cases
    self.outcomes = outcomes
    byID = Dictionary(cases.map { ($0.id, $0) }) { first, _ in first }
  }

  /// Returns the verdict on a case: that on its own outcome, unless a case that it depends on,
  /// directly or not, has not passed.
  func verdict(_ id: String) -> Verdict {
    guard let outcome = outcomes[id] else { return .untested }
    for dependency in byID[id]?.dependsOn ?? [] where verdict(dependency) != .passed {
      return .dependency(dependency)
    }
    switch outcome {
    case .passed: return .passed
    case .failed(let text): return .failed(text)
    case .setup(let text): return .setup(text)
    case .retried: return .retried
    }
  }

  /// Counts the cases of a kind in a suite, or in all.
  func count(_ kind: CaseKind, suite: String? = nil) -> (passed: Int, all: Int) {
    let counted = cases.filter { $0.kind == kind && (suite == nil || $0.suite == suite) }
    return (counted.count { verdict($0.id) == .passed }, counted.count)
  }

  /// Counts the cases whose own checks all held, whatever they depend on.
  func countAlone(_ kind: CaseKind) -> Int {
    cases.count { $0.kind == kind && outcomes[$0.id] == .passed }
  }

  /// Returns the ids of a kind that do not pass, each with the reason.
  func failures(_ kind: CaseKind) -> [String: String] {
    let failing = cases.filter { $0.kind == kind && verdict($0.id) != .passed }
    return Dictionary(uniqueKeysWithValues: failing.map { ($0.id, verdict($0.id).reason) })
  }

  /// Returns a line for each suite: what passed of what, by kind.
  var table: String {
    var suites: [String] = []
    for test in cases where !suites.contains(test.suite) { suites.append(test.suite) }
    let lines = suites.map { line($0, suite: $0) } + [line("all", suite: nil)]
    return lines.joined(separator: "\n")
  }

  private func line(_ name: String, suite: String?) -> String {
    let counts = CaseKind.allCases.map { kind in
      let (passed, all) = count(kind, suite: suite)
      return "\(kind) \(passed)/\(all)"
    }
    return "\(name): \(counts.joined(separator: ", "))"
  }
}
