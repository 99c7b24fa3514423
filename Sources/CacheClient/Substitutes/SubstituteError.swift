/// Tells what is wrong with a table of substitutes, or with a file that it names.
public struct SubstituteError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Names the table's file, or what a rule is for where there is none.
  public var subject: String

  /// Gives the line of the table, from 1; nil where it is about no line.
  public var line: Int?

  /// Says what is wrong.
  public var problem: String

  /// Says what to do.
  public var remedy: String

  init(_ place: SubstitutePlace, _ problem: String, remedy: String) {
    subject = place.subject
    line = place.line
    self.problem = problem
    self.remedy = remedy
  }

  /// Gives "file:line: problem; remedy".
  public var description: String {
    "\(subject)\(line.map { ":\($0)" } ?? ""): \(problem); \(remedy)"
  }
}

/// Tells where a rule stands, for messages.
struct SubstitutePlace: Sendable, Hashable {
  var subject: String
  var line: Int?
}
