import CommandLineTools
import HTTPSemantics

/// The header fields that a command line adds to requests.
enum HeaderOption {
  static let option = Option(
    "header", short: "H", .header, repeats: true,
    help: "Add a field to each request; Authorization and Cookie are not sent to other hosts")

  static func request(_ url: NormalizedURL, _ invocation: Invocation) -> HTTPRequest {
    HTTPRequest(url: url, fields: HTTPFields(invocation.all(option)))
  }
}

extension ValueKind where Value == HTTPField {
  static var header: ValueKind {
    ValueKind("NAME: VALUE") { argument throws(InvalidValue) in
      guard let colon = argument.bytes.firstIndex(of: UInt8(ascii: ":")),
        let name = String(validating: argument.bytes[..<colon], as: UTF8.self)
      else { throw noField(argument) }
      let value = argument.bytes[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
      let field = HTTPField(name: name, value: Array(value))
      guard HTTPField(name, "").isValid else { throw noField(argument) }
      guard field.isValid else {
        throw InvalidValue(
          problem: "the value of the field '\(name)' has a line break or another control character",
          remedy: "remove it")
      }
      return field
    }
  }

  /// The message must not show a credential.
  private static func noField(_ argument: Argument) -> InvalidValue {
    let word = String(decoding: argument.bytes.prefix { $0 > 0x20 && $0 != 0x3A }, as: UTF8.self)
    return InvalidValue(
      problem: "what begins with '\(word)' is no field",
      remedy: "give one such as 'Accept: text/plain'")
  }
}
