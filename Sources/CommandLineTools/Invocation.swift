/// Holds the values of a parsed command line.
///
/// Values are asked for by the declaration that describes them, so their types are known:
///
///     let parallel = Option("parallel", .integer(in: 1...64), default: 8, help: "…")
///     let count: Int = invocation.value(of: parallel)
package struct Invocation: Sendable {
  /// The names of the chosen commands, the tool first: `["offlinecache", "fetch"]`.
  package let path: [String]
  /// The values by the long name of the option; for a flag, one element a time it was given.
  let options: [String: [any Sendable]]
  /// The values by the name of the parameter.
  let parameters: [String: [any Sendable]]

  /// The chosen subcommand, or the tool when it has none.
  package var command: String { path[path.count - 1] }

  /// Tells whether a flag was given.
  package subscript(flag: Flag) -> Bool { count(of: flag) > 0 }

  /// Returns how often a flag was given.
  package func count(of flag: Flag) -> Int { options[flag.specification.long]?.count ?? 0 }

  /// Returns the value of an option: the last one given, else its default, else nil.
  package subscript<Value>(option: Option<Value>) -> Value? {
    all(option).last ?? option.defaultValue
  }

  /// Returns the value of an option that has a default.
  ///
  /// - Precondition: the option was declared with a default.
  package func value<Value>(of option: Option<Value>) -> Value {
    guard let value = self[option] else {
      preconditionFailure("\(option.specification.spelling) has no default")
    }
    return value
  }

  /// Returns every value of an option, in the order given.
  package func all<Value>(_ option: Option<Value>) -> [Value] {
    typed(options[option.specification.long] ?? [])
  }

  /// Returns the arguments of a parameter, in the order given.
  package subscript<Value>(parameter: Parameter<Value>) -> [Value] {
    typed(parameters[parameter.specification.name] ?? [])
  }

  /// Returns the argument of a parameter of arity ``Arity/one``.
  ///
  /// - Precondition: the parameter belongs to the command and takes one argument.
  package func value<Value>(of parameter: Parameter<Value>) -> Value {
    guard let value = self[parameter].first else {
      preconditionFailure("<\(parameter.specification.name)> is no parameter of '\(command)'")
    }
    return value
  }

  /// Makes the error for a rule the declarations cannot say, as two options that exclude each other.
  package func usageError(_ problem: String, remedy: String) -> UsageError {
    UsageError(
      code: .combination, command: path.joined(separator: " "), problem: problem, remedy: remedy)
  }

  /// Gives values their type back.
  private func typed<Value>(_ values: [any Sendable]) -> [Value] {
    values.map { value in
      guard let value = value as? Value else {
        preconditionFailure("two declarations of one name in '\(command)' differ in type")
      }
      return value
    }
  }
}
