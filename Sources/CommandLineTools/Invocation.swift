/// The values of a parsed command line.
///
/// A value is read with the declaration of its option or parameter, which determines its type:
///
///     let jobs = Option("jobs", .integer(in: 1...64), default: 8, help: "…")
///     let count: Int = invocation.value(of: jobs)
package struct Invocation: Sendable {
  /// The names of the chosen commands, the tool first: `["offlinecache", "fetch"]`.
  package let path: [String]
  /// The values by the long name of the option. A flag has one element for each time it was given.
  let options: [String: [any Sendable]]
  let parameters: [String: [any Sendable]]

  /// The chosen subcommand, or the tool if it has no subcommands.
  package var command: String { path[path.count - 1] }

  package subscript(flag: Flag) -> Bool { count(of: flag) > 0 }

  package func count(of flag: Flag) -> Int { options[flag.specification.long]?.count ?? 0 }

  /// Returns the value of an option: the last one given, or its default, or `nil`.
  package subscript<Value>(option: Option<Value>) -> Value? {
    all(option).last ?? option.defaultValue
  }

  /// Returns the value of an option that has a default.
  ///
  /// - Precondition: The option was declared with a default.
  package func value<Value>(of option: Option<Value>) -> Value {
    guard let value = self[option] else {
      preconditionFailure("\(option.specification.spelling) has no default")
    }
    return value
  }

  package func all<Value>(_ option: Option<Value>) -> [Value] {
    typed(options[option.specification.long] ?? [])
  }

  package subscript<Value>(parameter: Parameter<Value>) -> [Value] {
    typed(parameters[parameter.specification.name] ?? [])
  }

  /// Returns the argument of a parameter of arity ``Arity/one``.
  ///
  /// - Precondition: The parameter belongs to the command and takes one argument.
  package func value<Value>(of parameter: Parameter<Value>) -> Value {
    guard let value = self[parameter].first else {
      preconditionFailure("<\(parameter.specification.name)> is no parameter of '\(command)'")
    }
    return value
  }

  /// Returns the error for a rule that declarations cannot express, such as two options that
  /// exclude each other.
  package func usageError(_ problem: String, remedy: String) -> UsageError {
    UsageError(command: path.joined(separator: " "), problem: problem, remedy: remedy)
  }

  /// Throws if more than one of some options was given.
  package func exclude(
    _ declared: any OptionDeclaration..., remedy: String = "choose one of them"
  ) throws(UsageError) {
    let excluding = declared.map(\.specification)
    guard excluding.count(where: { options[$0.long] != nil }) > 1 else { return }
    let names = excluding.map(\.spelling)
    let list = "\(names.dropLast().joined(separator: ", ")) and \(names[names.count - 1])"
    throw usageError("\(list) exclude each other", remedy: remedy)
  }

  private func typed<Value>(_ values: [any Sendable]) -> [Value] {
    values.map { value in
      guard let value = value as? Value else {
        preconditionFailure("two declarations of one name in '\(command)' differ in type")
      }
      return value
    }
  }
}
