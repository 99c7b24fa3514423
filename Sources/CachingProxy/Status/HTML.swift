internal import CacheFormat

/// A piece of an HTML document in which all text from outside is escaped.
///
/// A literal is used unchanged. An interpolated value is escaped, unless it is `HTML` itself. So
/// markup comes only from the source code, and no URL and no reason can become markup.
struct HTML: ExpressibleByStringInterpolation, Sendable, Hashable {
  private(set) var text: String

  init(stringLiteral value: StaticString) {
    text = value.description
  }

  init(stringInterpolation: Interpolation) {
    text = stringInterpolation.text
  }

  init(_ pieces: some Sequence<HTML>) {
    text = ""
    for piece in pieces { text += piece.text }
  }

  static func += (left: inout HTML, right: HTML) {
    left.text += right.text
  }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    mutating func appendLiteral(_ literal: StaticString) {
      text += literal.description
    }

    mutating func appendInterpolation(_ piece: HTML) {
      text += piece.text
    }

    mutating func appendInterpolation(_ value: String) {
      HTML.append(value, to: &text)
    }

    mutating func appendInterpolation(_ value: some BinaryInteger) {
      text += String(value)
    }
  }

  /// Appends text as it is to be shown, between tags and in quoted attribute values.
  ///
  /// Control characters, and those that change the direction of writing or have no width, become
  /// U+FFFD, because a URL must not look like another one.
  private static func append(_ value: String, to text: inout String) {
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&#39;"
      default: text.unicodeScalars.append(scalar.steersTerminal ? "\u{FFFD}" : scalar)
      }
    }
  }
}
