/// The declaration of one option, whatever the type of its value.
package protocol OptionDeclaration: Sendable {
  var specification: OptionSpecification { get }
}

/// The properties of an option that the parser and the help use.
package struct OptionSpecification: Sendable {
  /// The long name, without the dashes. It identifies the option.
  let long: String
  let short: Character?
  let help: String
  let group: String
  /// The word for the value in the help, or `nil` for a flag.
  let placeholder: String?
  /// The default, as it would be typed.
  let defaultText: String?
  /// Whether it may be given more than once; all values are kept.
  let repeats: Bool
  let read: (@Sendable (Argument) throws(InvalidValue) -> any Sendable)?

  package static let defaultGroup = "Options"

  /// The long name as it is typed.
  var spelling: String { "--\(long)" }
}

/// The declaration of an option without a value, such as `--json`.
///
/// A flag may be given several times; see ``Invocation/count(of:)``.
package struct Flag: OptionDeclaration {
  package let specification: OptionSpecification

  package init(
    _ long: String, short: Character? = nil, group: String = OptionSpecification.defaultGroup,
    help: String
  ) {
    specification = OptionSpecification(
      long: long, short: short, help: help, group: group, placeholder: nil, defaultText: nil,
      repeats: true, read: nil)
  }
}

/// The declaration of an option with a value: `--name value`, `--name=value`, `-n value`,
/// `-nvalue`.
///
/// If it is given more than once, the last value is used, so that an alias can be overridden. With
/// `repeats` all values are kept.
package struct Option<Value: Sendable>: OptionDeclaration {
  package let specification: OptionSpecification
  let defaultValue: Value?

  /// - Parameter defaultText: The default in the help; without it, the default is shown as it would be
  ///   typed.
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

/// The number of arguments that a positional parameter takes.
package enum Arity: Sendable, Hashable {
  case one
  /// None or one.
  case optional
  case any
  case oneOrMore

  var minimum: Int { self == .one || self == .oneOrMore ? 1 : 0 }
  var maximum: Int { self == .one || self == .optional ? 1 : Int.max }
}

/// The declaration of one positional parameter, whatever its type.
package protocol ParameterDeclaration: Sendable {
  var specification: ParameterSpecification { get }
}

/// The properties of a positional parameter that the parser and the help use.
package struct ParameterSpecification: Sendable {
  /// The name in the help. It identifies the parameter within its command.
  let name: String
  let arity: Arity
  let help: String
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

/// The declaration of positional arguments, such as the `<key>` of `get <key>`.
package struct Parameter<Value: Sendable>: ParameterDeclaration {
  package let specification: ParameterSpecification

  package init(_ name: String, _ kind: ValueKind<Value>, _ arity: Arity = .one, help: String) {
    let parse = kind.parse
    specification = ParameterSpecification(
      name: name, arity: arity, help: help,
      read: { argument throws(InvalidValue) in try parse(argument) })
  }
}
