/// Describes one option of a command, whatever the type of its value.
package protocol OptionDeclaration: Sendable {
  /// The parts that parsing and help need.
  var specification: OptionSpecification { get }
}

/// Holds what the parser and the help know of an option.
package struct OptionSpecification: Sendable {
  /// The long name, without the dashes. It identifies the option.
  let long: String
  /// The one-letter name, if there is one.
  let short: Character?
  /// What the option does, as one sentence.
  let help: String
  /// The heading it stands under in the help.
  let group: String
  /// The word for the value in the help; nil for a flag.
  let placeholder: String?
  /// The default, as it would be typed.
  let defaultText: String?
  /// Whether every value counts, or the last one alone.
  let repeats: Bool
  /// Reads the value; nil for a flag.
  let read: (@Sendable (Argument) throws(InvalidValue) -> any Sendable)?

  /// The heading for options that name no other.
  package static let defaultGroup = "Options"

  /// The long name as it is typed.
  var spelling: String { "--\(long)" }
}

/// Declares an option without a value, as `--json`.
///
/// It may be given several times; ``Invocation/count(of:)`` tells how often.
package struct Flag: OptionDeclaration {
  /// The parts that parsing and help need.
  package let specification: OptionSpecification

  /// Declares a flag.
  ///
  /// - Parameters:
  ///   - long: the name, without the dashes.
  ///   - short: a letter for short.
  ///   - group: the heading in the help.
  ///   - help: what the flag does, as one sentence without the full stop.
  package init(
    _ long: String, short: Character? = nil, group: String = OptionSpecification.defaultGroup,
    help: String
  ) {
    specification = OptionSpecification(
      long: long, short: short, help: help, group: group, placeholder: nil, defaultText: nil,
      repeats: true, read: nil)
  }
}

/// Declares an option with a value: `--name value`, `--name=value`, `-n value`, `-nvalue`.
///
/// Given more than once, the last value counts, so that an alias can be overruled; with `repeats`
/// every value counts.
package struct Option<Value: Sendable>: OptionDeclaration {
  /// The parts that parsing and help need.
  package let specification: OptionSpecification
  /// The value that stands when none is given.
  let defaultValue: Value?

  /// Declares an option.
  ///
  /// - Parameters:
  ///   - long: the name, without the dashes.
  ///   - short: a letter for short.
  ///   - kind: how the value is read.
  ///   - defaultValue: what stands when the option is not given.
  ///   - defaultText: how the help says the default; by default as it would be typed.
  ///   - repeats: whether all values count.
  ///   - group: the heading in the help.
  ///   - help: what the option does, as one sentence without the full stop.
  package init(
    _ long: String, short: Character? = nil, _ kind: ValueKind<Value>,
    default defaultValue: Value? = nil, defaultText: String? = nil, repeats: Bool = false,
    group: String = OptionSpecification.defaultGroup, help: String
  ) {
    self.defaultValue = defaultValue
    let parse = kind.parse
    specification = OptionSpecification(
      long: long, short: short, help: help, group: group, placeholder: kind.placeholder,
      defaultText: defaultText ?? defaultValue.map(kind.describe), repeats: repeats,
      read: { argument throws(InvalidValue) in try parse(argument) })
  }
}

/// Says how many arguments a positional parameter takes.
package enum Arity: Sendable, Hashable {
  /// Just one.
  case one
  /// None or one.
  case optional
  /// Any number.
  case any
  /// One or more.
  case oneOrMore

  /// The fewest arguments it takes.
  var minimum: Int { self == .one || self == .oneOrMore ? 1 : 0 }
  /// The most arguments it takes.
  var maximum: Int { self == .one || self == .optional ? 1 : Int.max }
}

/// Describes one positional parameter of a command, whatever its type.
package protocol ParameterDeclaration: Sendable {
  /// The parts that parsing and help need.
  var specification: ParameterSpecification { get }
}

/// Holds what the parser and the help know of a positional parameter.
package struct ParameterSpecification: Sendable {
  /// The name in the help. It identifies the parameter within its command.
  let name: String
  /// How many arguments it takes.
  let arity: Arity
  /// What it is, as one sentence.
  let help: String
  /// Reads one argument.
  let read: @Sendable (Argument) throws(InvalidValue) -> any Sendable

  /// The parameter in a usage line: `<url>...`.
  var usage: String {
    switch arity {
    case .one: "<\(name)>"
    case .optional: "[<\(name)>]"
    case .any: "[<\(name)>...]"
    case .oneOrMore: "<\(name)>..."
    }
  }
}

/// Declares positional arguments, as the `<key>` of `get <key>`.
package struct Parameter<Value: Sendable>: ParameterDeclaration {
  /// The parts that parsing and help need.
  package let specification: ParameterSpecification

  /// Declares a positional parameter.
  ///
  /// - Parameters:
  ///   - name: its name in the help, without the angle brackets.
  ///   - kind: how each argument is read.
  ///   - arity: how many arguments it takes.
  ///   - help: what it is, as one sentence without the full stop.
  package init(_ name: String, _ kind: ValueKind<Value>, _ arity: Arity = .one, help: String) {
    let parse = kind.parse
    specification = ParameterSpecification(
      name: name, arity: arity, help: help,
      read: { argument throws(InvalidValue) in try parse(argument) })
  }
}
