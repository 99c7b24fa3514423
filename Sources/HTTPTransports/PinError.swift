/// The reason why a text is not a pin.
public struct PinError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The text.
  public let text: String

  /// The problem.
  public let problem: String

  /// The forms in which a pin is written.
  public var remedy: String {
    "write the pin of a key as sha256/ and the Base 64 of 32 bytes, that of a certificate as 64 "
      + "hexadecimal digits, with colons or without"
  }

  /// The text, the problem and the advice.
  public var description: String { "'\(text)': \(problem); \(remedy)" }
}
