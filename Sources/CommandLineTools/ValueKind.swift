package struct InvalidValue: Error, Hashable {
  /// The accepted values, worded to follow "give": `a whole number from 1 to 64`; or, with a
  /// ``problem``, the advice.
  package var expected: String

  /// The problem with the value, which it names, or `nil` if the value is just not accepted.
  package var problem: String?

  package init(expected: String) { self.expected = expected }

  /// Creates the error from a problem and an advice: `a:b: it has no host`, `write one`.
  package init(problem: String, remedy: String) {
    self.problem = problem
    expected = remedy
  }

  /// Returns the problem with a value that was given for an option or a parameter.
  func problem(_ value: Argument, for place: String) -> String {
    problem ?? "'\(value.withoutCredentials)' is no value for \(place)"
  }

  var remedy: String { problem == nil ? "give \(expected)" : expected }
}

/// The conversion of an argument to a value, and the text for both in the help.
package struct ValueKind<Value: Sendable>: Sendable {
  /// The word for the value in the help, such as `N` in `--jobs N`.
  package let placeholder: String
  /// The function that writes a value as it is typed; the help shows defaults with it.
  let describe: @Sendable (Value) -> String
  let parse: @Sendable (Argument) throws(InvalidValue) -> Value

  package init(
    _ placeholder: String,
    describe: @escaping @Sendable (Value) -> String = { "\($0)" },
    parse: @escaping @Sendable (Argument) throws(InvalidValue) -> Value
  ) {
    self.placeholder = placeholder
    self.describe = describe
    self.parse = parse
  }

  /// Creates a kind of value from a function that reads text.
  ///
  /// - Parameters:
  ///   - expected: The accepted values, as in ``InvalidValue/expected``.
  ///   - read: Returns the value of a text, or `nil` if it is not accepted.
  package init(
    _ placeholder: String, expected: String,
    describe: @escaping @Sendable (Value) -> String = { "\($0)" },
    read: @escaping @Sendable (String) -> Value?
  ) {
    self.init(placeholder, describe: describe) { argument throws(InvalidValue) in
      guard let value = argument.text.flatMap({ read($0) }) else {
        throw InvalidValue(expected: expected)
      }
      return value
    }
  }

  /// Returns the value of an argument, or `nil` if it is not of this kind; for kinds that are made
  /// of other kinds.
  package func value(of argument: Argument) -> Value? { try? parse(argument) }

  package func named(_ placeholder: String) -> ValueKind {
    ValueKind(placeholder, describe: describe, parse: parse)
  }
}

extension ValueKind where Value == Argument {
  /// Any bytes: file names and keys. Empty values are accepted.
  package static var bytes: ValueKind { ValueKind("VALUE") { argument in argument } }

  /// The name of a file or folder: any bytes, but at least one. `-` is refused, which is standard
  /// input or output elsewhere.
  package static var path: ValueKind {
    ValueKind("PATH") { argument throws(InvalidValue) in
      if argument == "-" { throw InvalidValue(expected: "a path; ./- names a file '-'") }
      return try pathOrDash.parse(argument)
    }
  }

  /// The name of a file or folder, or `-` for standard input or output.
  package static var pathOrDash: ValueKind {
    ValueKind("PATH") { argument throws(InvalidValue) in
      if argument.bytes.isEmpty { throw InvalidValue(expected: "a path that is not empty") }
      // A shell leaves it in '--store=~/x', and 'rm -r ~' would not remove that folder.
      if argument.bytes.prefix(2).elementsEqual("~/".utf8) || argument == "~" {
        throw InvalidValue(expected: "a path with $HOME for ~, or with ./ before it")
      }
      return argument
    }
  }
}

extension ValueKind where Value == String {
  /// Text of at least one character: an empty one is mostly a variable of a shell that is not set.
  package static var text: ValueKind {
    ValueKind("TEXT", expected: "text in UTF-8 that is not empty") { $0.isEmpty ? nil : $0 }
  }

  package static func choice(_ words: [String]) -> ValueKind {
    ValueKind(words.joined(separator: "|")) { argument throws(InvalidValue) in
      guard let text = argument.text, words.contains(text) else {
        throw InvalidValue(expected: oneOf(words, insteadOf: argument))
      }
      return text
    }
  }
}

extension ValueKind
where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
  /// One of the cases of an enumeration, by its raw value.
  package static var choice: ValueKind {
    let words = Value.allCases.map(\.rawValue)
    return ValueKind(words.joined(separator: "|"), describe: { $0.rawValue }) {
      argument throws(InvalidValue) in
      guard let value = argument.text.flatMap({ Value(rawValue: $0) }) else {
        throw InvalidValue(expected: oneOf(words, insteadOf: argument))
      }
      return value
    }
  }
}

extension ValueKind where Value == Int {
  /// A whole number within bounds: digits, with `-` before them if it is below zero.
  package static func integer(in bounds: ClosedRange<Int> = 0...Int.max) -> ValueKind {
    ValueKind("N") { argument throws(InvalidValue) in
      let isNegative = argument.bytes.first == UInt8(ascii: "-")
      guard argument.bytes.dropFirst(isNegative ? 1 : 0).allSatisfy(isDigit),
        let number = argument.text.flatMap({ Int($0) }), number < 0 || !isNegative,
        bounds.contains(number)
      else { throw InvalidValue(expected: "a whole number " + describe(bounds)) }
      return number
    }
  }

  private static func describe(_ bounds: ClosedRange<Int>) -> String {
    bounds.upperBound == Int.max
      ? "of at least \(bounds.lowerBound)"
      : "from \(bounds.lowerBound) to \(bounds.upperBound)"
  }
}

/// Returns the accepted words as text and, if one of them is similar to the argument, suggests that
/// word.
private func oneOf(_ words: [String], insteadOf argument: Argument) -> String {
  let list = words.joined(separator: ", ")
  guard let text = argument.text, let near = nearest(to: text, among: words) else {
    return "one of \(list)"
  }
  return "one of \(list) (did you mean '\(near)'?)"
}
