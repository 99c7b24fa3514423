/// An error in a table of substitutes, or in a file that it names.
public struct SubstituteError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file of the table; without one, the URL of the rule.
  public var subject: String

  /// The line in the table, from 1; `nil` if no line is at fault.
  public var line: Int?

  /// What is wrong.
  public var problem: String

  /// What to do.
  public var remedy: String

  init(_ place: SubstitutePlace, _ problem: String, remedy: String) {
    subject = place.subject
    line = place.line
    self.problem = problem
    self.remedy = remedy
  }

  /// The error as "file:line: problem; remedy".
  public var description: String {
    "\(subject)\(line.map { ":\($0)" } ?? ""): \(problem); \(remedy)"
  }
}

struct SubstitutePlace: Sendable, Hashable {
  var subject: String
  var line: Int?
}
