/// Tells what is wrong with a command line, and what to type instead.
public struct UsageError: Error, Hashable, CustomStringConvertible {
  /// Names the kind of mistake.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the code.
    public let description: String

    private init(_ description: String) { self.description = description }

    /// An option nobody declared.
    public static let unknownOption = Code("unknownOption")
    /// An option of another command, or given before the command it belongs to.
    public static let misplacedOption = Code("misplacedOption")
    /// An option without its value.
    public static let missingValue = Code("missingValue")
    /// A flag with a value, as in `--json=yes`.
    public static let unexpectedValue = Code("unexpectedValue")
    /// A value that is not of its kind.
    public static let invalidValue = Code("invalidValue")
    /// A command nobody declared.
    public static let unknownCommand = Code("unknownCommand")
    /// No command where one is needed.
    public static let missingCommand = Code("missingCommand")
    /// Fewer arguments than the command takes.
    public static let missingArgument = Code("missingArgument")
    /// More arguments than the command takes.
    public static let unexpectedArgument = Code("unexpectedArgument")
    /// Options or arguments that do not go together.
    public static let combination = Code("combination")
  }

  /// The kind of mistake.
  public var code: Code
  /// The command it was found in, with the name of the tool: `offlinecache fetch`.
  public var command: String
  /// What is wrong.
  public var problem: String
  /// What to do.
  public var remedy: String

  /// Creates an error.
  public init(code: Code, command: String, problem: String, remedy: String) {
    self.code = code
    self.command = command
    self.problem = problem
    self.remedy = remedy
  }

  /// The error in one line: `tool: what is wrong; what to do`.
  public var description: String { "\(command): \(problem); \(remedy)" }
}
