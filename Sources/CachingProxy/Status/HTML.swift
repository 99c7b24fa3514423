/// Holds a piece of an HTML document in which everything that came from outside is escaped.
///
/// A literal stands as it is written; what is interpolated is escaped, unless it is `HTML` itself.
/// So markup comes from the source code alone, and no URL and no reason can become markup.
struct HTML: ExpressibleByStringInterpolation, Sendable, Hashable {
  /// Holds the markup.
  private(set) var text: String

  /// Holds nothing.
  static let empty: HTML = ""

  init(stringLiteral value: StaticString) {
    text = value.description
  }

  init(stringInterpolation: Interpolation) {
    text = stringInterpolation.text
  }

  /// Joins pieces.
  init(_ pieces: some Sequence<HTML>) {
    text = ""
    for piece in pieces { text += piece.text }
  }

  /// Adds a piece at the end.
  static func += (left: inout HTML, right: HTML) {
    left.text += right.text
  }

  /// Collects what a literal with interpolations is made of.
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

  /// Appends text so that it stands for itself, between tags and in quoted attribute values.
  ///
  /// Control characters and those that turn the direction of writing become U+FFFD: a URL shall not
  /// look like another one.
  private static func append(_ value: String, to text: inout String) {
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&#39;"
      default: text.unicodeScalars.append(isHarmless(scalar) ? scalar : "\u{FFFD}")
      }
    }
  }

  private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00...0x1F, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: false
    default: true
    }
  }
}
