/// A mistake in a command line, and the advice what to type instead.
package struct UsageError: Error, Hashable, CustomStringConvertible {
  /// The kind of a mistake.
  package struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the code.
    package let description: String

    private init(_ description: String) { self.description = description }

    /// An option that is not declared.
    package static let unknownOption = Code("unknownOption")
    /// An option of another command, or one in front of the command it belongs to.
    package static let misplacedOption = Code("misplacedOption")
    /// An option without its value.
    package static let missingValue = Code("missingValue")
    /// A flag with a value, as in `--json=yes`.
    package static let unexpectedValue = Code("unexpectedValue")
    /// A value that is not of its kind.
    package static let invalidValue = Code("invalidValue")
    /// A command that is not declared.
    package static let unknownCommand = Code("unknownCommand")
    /// No command, but one is required.
    package static let missingCommand = Code("missingCommand")
    /// Fewer arguments than the command takes.
    package static let missingArgument = Code("missingArgument")
    /// More arguments than the command takes.
    package static let unexpectedArgument = Code("unexpectedArgument")
    /// Options or arguments that exclude each other.
    package static let combination = Code("combination")
  }

  /// The kind of mistake.
  package var code: Code
  /// The command with the mistake, with the name of the tool: `offlinecache fetch`.
  package var command: String
  /// The problem.
  package var problem: String
  /// The advice.
  package var remedy: String

  /// Creates an error.
  package init(code: Code, command: String, problem: String, remedy: String) {
    self.code = code
    self.command = command
    self.problem = problem
    self.remedy = remedy
  }

  /// The error in one line: `tool: what is wrong; what to do`.
  package var description: String { "\(command): \(problem); \(remedy)" }
}
