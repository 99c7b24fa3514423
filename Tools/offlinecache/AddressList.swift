import CommandLineTools
import HTTPSemantics
import Synchronization

enum AddressList {
  static let option = Option(
    "urls-from", .pathOrDash.named("FILE"),
    help: "Also take the URLs in a file, one a line; - is standard input")

  /// The largest size of a list, in bytes: enough for millions of URLs.
  private static let limit = 256 << 20

  /// Returns the URLs of the command line, followed by those of the list file, if one is given.
  static func all(_ invocation: Invocation, _ urls: Parameter<String>) throws -> [String] {
    try invocation[urls] + (invocation[option].map { try read($0) } ?? [])
  }

  /// Returns the URLs of a file, or of standard input for `-`.
  ///
  /// - Throws: ``ToolError`` if the file cannot be read, is too large, or is not UTF-8.
  private static func read(_ path: Argument) throws -> [String] {
    let bytes = try InputFile.bytes(of: path, limit: limit, remedy: "split it")
    do throws(ItemLines.NotUTF8) {
      return try ItemLines.items(in: bytes).map(\.text)
    } catch {
      throw ToolError(
        subject: InputFile.name(of: path), problem: "line \(error.line) is not UTF-8",
        remedy: "percent-encode its bytes")
    }
  }

  /// Throws if a URL has a user name or password in it. The message does not show them, because
  /// output is often kept in files.
  static func checkCredentials(_ address: String, _ url: NormalizedURL) throws(ToolError) {
    guard hasCredentials(address) else { return }
    throw ToolError(
      subject: url.string,
      problem:
        "a URL with a name or password is refused, because it may stay in the shell's history, in "
        + "lists and logs",
      remedy: "leave them out, and give --user NAME@HOST, which asks for the password")
  }

  /// Returns whether a URL has user information in front of the host (RFC 3986, section 3.2.1).
  static func hasCredentials(_ address: String) -> Bool { address.authority.contains("@") }
}

/// A list of addresses that several tasks take from; each address is taken once.
final class AddressQueue: Sendable {
  private let addresses: [String]
  private let position = Atomic<Int>(0)

  init(_ addresses: [String]) { self.addresses = addresses }

  func next() -> String? {
    let index = position.wrappingAdd(1, ordering: .relaxed).oldValue
    return index < addresses.count ? addresses[index] : nil
  }
}
