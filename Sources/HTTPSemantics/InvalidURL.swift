internal import CacheFormat

/// The reason why this package cannot fetch a URL.
public struct InvalidURL: Error, Sendable, Hashable, CustomStringConvertible {
  /// The cause; later versions may add causes.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The name.
    public let rawValue: String

    /// Creates a cause from its name; the known ones are constants.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The URL does not start with a scheme.
    public static let noScheme = Code(rawValue: "noScheme")
    /// The scheme is neither `http` nor `https`.
    public static let unsupportedScheme = Code(rawValue: "unsupportedScheme")
    /// There is no host between `//` and the path.
    public static let noHost = Code(rawValue: "noHost")
    /// The host contains a byte that is not allowed in a host name.
    public static let invalidHost = Code(rawValue: "invalidHost")
    /// The host is in brackets but is not an IPv6 address, or there is other text after the
    /// brackets.
    public static let invalidAddress = Code(rawValue: "invalidAddress")
    /// The port is not a number from 1 to 65,535.
    public static let invalidPort = Code(rawValue: "invalidPort")
    /// The URL contains a control character (0x00-0x1F or 0x7F).
    public static let controlCharacter = Code(rawValue: "controlCharacter")
    /// The URL is longer than ``NormalizedURL/maximumLength``.
    public static let tooLong = Code(rawValue: "tooLong")
  }

  /// The cause.
  public let code: Code

  /// The start of the URL, without user-info and control characters.
  ///
  /// At most 200 characters, so that error messages stay readable; two apostrophes if it is empty.
  public let url: String

  init(_ code: Code, in text: String) {
    self.code = code
    self.url = text.isEmpty ? "''" : InvalidURL.excerpt(of: text)
  }

  /// The URL, the problem and the remedy.
  public var description: String {
    "\(url): \(parts.problem); \(parts.remedy)"
  }

  /// The URL and the problem.
  public var problem: String { "\(url): \(parts.problem)" }

  /// What is wrong with the URL, without it.
  package var reason: String { parts.problem }

  /// The advice for the user.
  public var remedy: String { parts.remedy }

  private var parts: (problem: String, remedy: String) {
    switch code {
    case .noScheme: ("the URL has no scheme", "write it with http:// or https:// in front")
    case .unsupportedScheme: ("the scheme is not supported", "only http and https are")
    case .noHost: ("the URL has no host", "write it as http://host/path")
    case .invalidHost where url.authority.contains(" "):
      ("the URL has a blank in its host", "remove it")
    case .invalidHost:
      (
        "the host has a character that no host name has",
        "write an international name in its xn-- form"
      )
    case .invalidAddress:
      ("the host is no IPv6 address in brackets", "write it as http://[2001:db8::1]:8080/path")
    case .invalidPort:
      ("the port is not a number from 1 to 65535", "correct it, or leave it out")
    case .controlCharacter: ("the URL has a control character", "write it percent-encoded")
    case .tooLong:
      ("the URL is longer than \(NormalizedURL.maximumLength) bytes", "ask for a shorter one")
    default: (code.rawValue, "check the URL")
    }
  }

  private static let excerptLength = 200

  /// Returns the part of an invalid URL that may be logged: no credentials, no control characters.
  private static func excerpt(of text: String) -> String {
    let all = Array(text.utf8)
    let parts = HiddenCredentials(all)
    let bytes = (parts.map { $0.scheme + $0.rest } ?? all[...]).prefix(4 * excerptLength).map {
      $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0
    }
    let shown = String(decoding: bytes, as: UTF8.self)
    return shown.count <= excerptLength ? shown : String(shown.prefix(excerptLength)) + "..."
  }
}

extension String {
  /// The part of a URL between `//` and the path (RFC 3986, section 3.2); empty if there is none.
  package var authority: Substring {
    guard let start = firstRange(of: "//")?.upperBound else { return "" }
    return self[start...].prefix { !"/?#".contains($0) }
  }
}
