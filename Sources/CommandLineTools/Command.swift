/// The declaration of a command: its arguments, its options and its help.
///
/// A tool is one command, or a command with subcommands. The options of a command with subcommands
/// are global: they may be given before or after the name of the subcommand.
package struct Command: Sendable {
  /// A command line that the help shows, and its effect.
  package struct Example: Sendable, Hashable {
    let line: String
    let effect: String

    package init(_ line: String, _ effect: String) {
      self.line = line
      self.effect = effect
    }
  }

  package var name: String
  /// The summary, as one sentence without the full stop.
  package var summary: String
  /// More information, one string a paragraph.
  package var discussion: [String]
  package var parameters: [any ParameterDeclaration]
  package var options: [any OptionDeclaration]
  /// The subcommands. A command with subcommands has no positional parameters of its own.
  package var subcommands: [Command]
  package var examples: [Example]
  /// The exit statuses and their meaning. Those of the commands above hold for a subcommand, too,
  /// if it does not declare them itself.
  package var exitStatuses: [(ExitStatus, String)]
  /// The statuses of the commands above that this command never ends with.
  package var unusedStatuses: Set<ExitStatus>
  /// The version. Only the tool itself has one.
  package var version: String?
  /// Whether the options of the tool have an effect on this command. If not, they do nothing, and
  /// the help does not list them.
  package var usesGlobalOptions: Bool

  package init(
    _ name: String, summary: String, discussion: [String] = [],
    parameters: [any ParameterDeclaration] = [], options: [any OptionDeclaration] = [],
    subcommands: [Command] = [], examples: [Example] = [],
    exitStatuses: [(ExitStatus, String)] = [], unusedStatuses: Set<ExitStatus> = [],
    version: String? = nil, usesGlobalOptions: Bool = true
  ) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.parameters = parameters
    self.options = options
    self.subcommands = subcommands
    self.examples = examples
    self.exitStatuses = exitStatuses
    self.unusedStatuses = unusedStatuses
    self.version = version
    self.usesGlobalOptions = usesGlobalOptions
    precondition(
      subcommands.isEmpty || parameters.isEmpty, "'\(name)' has subcommands and parameters")
    precondition(
      parameters.filter { $0.specification.arity != .one }.count <= 1,
      "'\(name)' has two parameters of variable length: which takes an argument is undecided")
  }

  static let builtIn: [OptionSpecification] = [
    Flag("help", short: "h", help: "Show this help").specification,
    Flag("version", help: "Show the version").specification,
  ]
}

package enum Outcome: Sendable {
  case run(Invocation)
  /// Help was requested; the page is ready to be printed.
  case help(String)
  /// The version was requested; the line is ready to be printed.
  case version(String)
}

extension Command {
  /// Parses the arguments of a tool, without the name of the tool.
  ///
  /// - Parameter width: The columns that the help may use.
  /// - Throws: ``UsageError`` if the command line is wrong.
  package func parse(_ arguments: [Argument], width: Int = 80) throws(UsageError) -> Outcome {
    var parser = Parser(root: self)
    switch try parser.parse(arguments) {
    case .run: return .run(try parser.finish())
    case .help: return .help(HelpPage(path: parser.path, width: width).text)
    case .version: return .version("\(name) \(version ?? "0")")
    }
  }
}
