/// Converts arguments to an ``Invocation``, one argument at a time.
struct Parser {
  enum Request { case run, help, version }

  /// The commands chosen so far, the tool first.
  private(set) var path: [Command]
  private var options: [String: [any Sendable]] = [:]
  private var positionals: [Argument] = []

  init(root: Command) { path = [root] }

  private var current: Command { path[path.count - 1] }

  /// The name of the command with the name of the tool in front, for messages.
  private var commandName: String { path.map(\.name).joined(separator: " ") }

  /// Reads the arguments, up to a request for help or for the version.
  mutating func parse(_ arguments: [Argument]) throws(UsageError) -> Request {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let bytes = argument.bytes
      if bytes == Array("--".utf8) {
        positionals += rest
        return .run
      }
      if bytes.starts(with: "--".utf8) {
        if let request = try takeLong(bytes.dropFirst(2), &rest) { return request }
      } else if bytes.count > 1, bytes[0] == UInt8(ascii: "-") {
        if let request = try takeShort(bytes.dropFirst(), &rest) { return request }
      } else if !current.subcommands.isEmpty {
        if try descend(argument, &rest) { return .help }
      } else {
        positionals.append(argument)
      }
    }
    return .run
  }

  /// Checks the arguments that were read, and returns the invocation.
  func finish() throws(UsageError) -> Invocation {
    if !current.subcommands.isEmpty {
      throw error("no command is given", seeHelp)
    }
    return Invocation(path: path.map(\.name), options: options, parameters: try bindPositionals())
  }

  // MARK: Commands

  private mutating func descend(
    _ argument: Argument, _ rest: inout ArraySlice<Argument>
  ) throws(UsageError) -> Bool {
    if let chosen = current.subcommands.first(where: { $0.name == argument.text }) {
      path.append(chosen)
      return false
    }
    if argument.text == "help" {
      while let topic = rest.popFirst() { _ = try descend(topic, &rest) }
      return true
    }
    let names = current.subcommands.map(\.name) + ["help"]
    let near = argument.text.flatMap { nearest(to: $0, among: names) }
    throw error(
      "there is no command '\(argument)'",
      near.map { "did you mean '\($0)'?" } ?? seeHelp)
  }

  // MARK: Options

  /// The valid options: those of the command, of the commands above, and the built-in ones.
  private var known: [OptionSpecification] {
    path.flatMap { $0.options.map(\.specification) } + Command.builtIn
  }

  /// Parses `name` or `name=value`, without the dashes.
  private mutating func takeLong(
    _ bytes: ArraySlice<UInt8>, _ rest: inout ArraySlice<Argument>
  ) throws(UsageError) -> Request? {
    let parts = bytes.split(
      separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    let name = Argument(bytes: Array(parts[0]))
    guard let option = known.first(where: { $0.long == name.text }) else {
      throw unknown(name)
    }
    guard option.read != nil else {
      if parts.count > 1 {
        throw error("\(option.spelling) takes no value", "write \(option.spelling) alone")
      }
      return takeFlag(option)
    }
    let value =
      parts.count > 1
      ? Argument(bytes: Array(parts[1]))
      : try nextValue(for: option, spelled: option.spelling, &rest)
    try store(value, for: option)
    return nil
  }

  /// Parses bundled letters: flags, the last of which may have a value (`-lo file`, `-ofile`).
  private mutating func takeShort(
    _ bytes: ArraySlice<UInt8>, _ rest: inout ArraySlice<Argument>
  ) throws(UsageError) -> Request? {
    var bundle = bytes
    while let letter = bundle.popFirst() {
      let character = Character(Unicode.Scalar(letter))
      guard let option = known.first(where: { $0.short == character }) else {
        throw unknownLetter(Argument(bytes: [letter]), in: bytes)
      }
      if option.read == nil {
        if let request = takeFlag(option) { return request }
        continue
      }
      if bundle.first == UInt8(ascii: "=") { bundle.removeFirst() }
      let value =
        bundle.isEmpty
        ? try nextValue(for: option, spelled: "-\(character)", &rest)
        : Argument(bytes: Array(bundle))
      try store(value, for: option)
      return nil
    }
    return nil
  }

  private mutating func takeFlag(_ option: OptionSpecification) -> Request? {
    switch option.long {
    case "help": return .help
    case "version": return .version
    default:
      options[option.long, default: []].append(true)
      return nil
    }
  }

  private mutating func store(
    _ value: Argument, for option: OptionSpecification
  ) throws(UsageError) {
    guard let read = option.read else { return }
    // Which of the two was meant cannot be known.
    if !option.repeats, options[option.long] != nil {
      throw error("\(option.spelling) is given twice", "give it once")
    }
    do throws(InvalidValue) {
      options[option.long, default: []].append(try read(value))
    } catch {
      throw self.error(error.problem(value, for: option.spelling), error.remedy)
    }
  }

  /// Returns the next argument as a value.
  ///
  /// An argument that looks like an option is refused: a missing value is much more likely than a
  /// file of that name, and `--name=value` accepts anything. Negative numbers are accepted.
  private func nextValue(
    for option: OptionSpecification, spelled: String, _ rest: inout ArraySlice<Argument>
  ) throws(UsageError) -> Argument {
    let placeholder = option.placeholder ?? "VALUE"
    guard let next = rest.popFirst() else {
      throw error("\(spelled) needs a value", "write \(spelled) \(placeholder)")
    }
    let bytes = next.bytes
    if bytes.count > 1, bytes[0] == UInt8(ascii: "-"), !isDigit(bytes[1]) {
      throw error(
        "\(spelled) needs a value, but '\(next)' follows",
        "write \(spelled) \(placeholder), or \(option.spelling)=\(next) if that is the value")
    }
    return next
  }
}

extension Parser {
  // MARK: Positional arguments

  /// Returns the name of the first parameter that gets no argument if they are assigned in order.
  private func missing(_ specifications: [ParameterSpecification]) -> String {
    var needed = 0
    let first = specifications.first { parameter in
      needed += parameter.arity.minimum
      return needed > positionals.count
    }
    return first?.name ?? ""
  }

  /// Assigns the arguments to the parameters; parameters of fixed length come first.
  private func bindPositionals() throws(UsageError) -> [String: [any Sendable]] {
    let specifications = current.parameters.map(\.specification)
    var minimumAfter = specifications.reduce(0) { $0 + $1.arity.minimum }
    var rest = positionals[...]
    var bound: [String: [any Sendable]] = [:]
    for parameter in specifications {
      minimumAfter -= parameter.arity.minimum
      let count = min(parameter.arity.maximum, max(0, rest.count - minimumAfter))
      if count < parameter.arity.minimum {
        throw error("<\(missing(specifications))> is missing", usage)
      }
      for argument in rest.prefix(count) {
        bound[parameter.name, default: []].append(try read(argument, as: parameter))
      }
      rest = rest.dropFirst(count)
    }
    if let extra = rest.first {
      throw error("'\(extra.withoutCredentials)' is one argument too many", usage)
    }
    return bound
  }

  private func read(
    _ argument: Argument, as parameter: ParameterSpecification
  ) throws(UsageError) -> any Sendable {
    do throws(InvalidValue) {
      return try parameter.read(argument)
    } catch {
      throw self.error(error.problem(argument, for: "<\(parameter.name)>"), error.remedy)
    }
  }

  // MARK: Errors

  private var seeHelp: String { "see '\(commandName) --help'" }

  private var usage: String { "usage: \(HelpPage(path: path, width: Int.max).usageLine)" }

  private func error(_ problem: String, _ remedy: String) -> UsageError {
    UsageError(command: commandName, problem: problem, remedy: remedy)
  }

  /// Returns the error for an unknown long option, with the most similar option.
  private func unknown(_ name: Argument) -> UsageError {
    if let early = tooEarly("--\(name)", { $0.long == name.text }) { return early }
    let near = name.text.flatMap { nearest(to: $0, among: known.map(\.long)) }
    return error("there is no option --\(name)", near.map { "did you mean --\($0)?" } ?? seeHelp)
  }

  /// Returns the error for an option of subcommands that comes before the name of one; `nil` if none
  /// has it.
  private func tooEarly(
    _ spelled: String, _ isMeant: (OptionSpecification) -> Bool
  ) -> UsageError? {
    let owners = current.subcommands.filter { $0.options.contains { isMeant($0.specification) } }
    guard !owners.isEmpty else { return nil }
    return error(
      "\(spelled) belongs to \(owners.map { "'\($0.name)'" }.joined(separator: ", "))",
      "write it after the command")
  }

  private func unknownLetter(_ letter: Argument, in bundle: ArraySlice<UInt8>) -> UsageError {
    let whole = Argument(bytes: Array(bundle))
    let isMeant = { (option: OptionSpecification) in
      option.short.map { Argument("\($0)") } == letter
    }
    // The usual mistake is one dash too few, as in `-json`.
    if whole.bytes.count > 1, let text = whole.text, known.contains(where: { $0.long == text }) {
      return error("there is no option -\(letter)", "did you mean --\(text)?")
    }
    if let early = tooEarly("-\(letter)", isMeant) { return early }
    // Or the letter of another command: -o is --output there, and --output-dir may be meant.
    let others = path[0].subcommands.flatMap(\.options).map(\.specification)
    if let other = others.first(where: isMeant),
      let near = nearest(to: other.long, among: known.map(\.long))
    {
      return error("there is no option -\(letter)", "did you mean --\(near)?")
    }
    let dashes = "write -- before an argument that begins with a dash"
    let remedy =
      whole.bytes.allSatisfy(isDigit)
      ? dashes : current.parameters.isEmpty ? seeHelp : "\(seeHelp), or \(dashes)"
    return error("there is no option -\(letter)", remedy)
  }
}
