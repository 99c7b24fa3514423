/// Tells why a text is no pin.
public struct PinError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Gives what was to be read.
  public let text: String

  /// Says what is wrong with it.
  public let problem: String

  /// Says how a pin is written.
  public var remedy: String {
    "write the pin of a key as sha256/ and the Base 64 of 32 bytes, that of a certificate as 64 "
      + "hexadecimal digits, with colons or without"
  }

  /// Says what was read, what is wrong, and what to do.
  public var description: String { "'\(text)': \(problem); \(remedy)" }
}
