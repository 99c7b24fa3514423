/// Tells that a value is not of its kind, and what would be.
package struct InvalidValue: Error, Hashable {
  /// What is accepted, fit to follow "give": `a whole number from 1 to 64`; or, with a ``problem``, what
  /// to do.
  package var expected: String

  /// What is wrong with the value, which it names; nil: no more than that it is no value.
  package var problem: String?

  /// Creates the error from what is accepted.
  package init(expected: String) { self.expected = expected }

  /// Creates the error from what is wrong and what to do: `a:b: it has no host`, `write one`.
  package init(problem: String, remedy: String) {
    self.problem = problem
    expected = remedy
  }

  /// What is wrong with a value that was given for something.
  func problem(_ value: Argument, for place: String) -> String {
    problem ?? "'\(value)' is no value for \(place)"
  }

  /// What to do.
  var remedy: String { problem == nil ? "give \(expected)" : expected }
}

/// Describes how an argument becomes a value, and how the help shows both.
package struct ValueKind<Value: Sendable>: Sendable {
  /// The word that stands for the value in the help, as `N` in `--parallel N`.
  package let placeholder: String
  /// Writes a value the way it is typed; the help shows defaults with it.
  let describe: @Sendable (Value) -> String
  /// Reads a value from the bytes of an argument.
  let parse: @Sendable (Argument) throws(InvalidValue) -> Value

  /// Creates a kind of value from its reader and its writer.
  package init(
    _ placeholder: String,
    describe: @escaping @Sendable (Value) -> String = { "\($0)" },
    parse: @escaping @Sendable (Argument) throws(InvalidValue) -> Value
  ) {
    self.placeholder = placeholder
    self.describe = describe
    self.parse = parse
  }

  /// Returns the value of an argument, or nil when it is not of this kind; for kinds made of others.
  package func value(of argument: Argument) -> Value? { try? parse(argument) }

  /// Returns the same kind under another placeholder.
  package func named(_ placeholder: String) -> ValueKind {
    ValueKind(placeholder, describe: describe, parse: parse)
  }
}

extension ValueKind where Value == Argument {
  /// Any bytes: file names and keys. Empty values are accepted.
  package static var bytes: ValueKind { ValueKind("VALUE") { argument in argument } }

  /// The name of a file or folder: any bytes, but at least one.
  package static var path: ValueKind {
    ValueKind("PATH") { argument throws(InvalidValue) in
      if argument.bytes.isEmpty { throw InvalidValue(expected: "a path that is not empty") }
      return argument
    }
  }
}

extension ValueKind where Value == String {
  /// Text in UTF-8.
  package static var text: ValueKind {
    ValueKind("TEXT") { argument throws(InvalidValue) in
      guard let text = argument.text else { throw InvalidValue(expected: "text in UTF-8") }
      return text
    }
  }

  /// One of a list of words.
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
  /// A whole number within bounds, in decimal; underscores may group digits.
  package static func integer(in bounds: ClosedRange<Int> = 0...Int.max) -> ValueKind {
    ValueKind("N") { argument throws(InvalidValue) in
      let digits = argument.bytes.filter { $0 != UInt8(ascii: "_") }
      guard let number = Int(String(decoding: digits, as: UTF8.self)), bounds.contains(number)
      else { throw InvalidValue(expected: "a whole number " + describe(bounds)) }
      return number
    }
  }

  /// Says bounds in words.
  private static func describe(_ bounds: ClosedRange<Int>) -> String {
    bounds.upperBound == Int.max
      ? "of at least \(bounds.lowerBound)"
      : "from \(bounds.lowerBound) to \(bounds.upperBound)"
  }
}

extension ValueKind where Value == Double {
  /// A decimal number within bounds.
  package static func number(in bounds: ClosedRange<Double>) -> ValueKind {
    ValueKind("X") { argument throws(InvalidValue) in
      guard let number = argument.text.flatMap({ Double($0) }), bounds.contains(number) else {
        let range = "from \(bounds.lowerBound) to \(bounds.upperBound)"
        throw InvalidValue(expected: "a number \(range)")
      }
      return number
    }
  }
}

/// Says which words are accepted, the nearest one first when one is near.
private func oneOf(_ words: [String], insteadOf argument: Argument) -> String {
  let list = words.joined(separator: ", ")
  guard let text = argument.text, let near = nearest(to: text, among: words) else {
    return "one of \(list)"
  }
  return "one of \(list) (did you mean '\(near)'?)"
}
