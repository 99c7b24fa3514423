import CommandLineTools
import HTTPSemantics
import Synchronization

/// Reads lists of URLs, one a line.
enum AddressList {
  /// The largest list that is read, in bytes: millions of URLs.
  private static let limit = 256 << 20

  /// Returns the URLs that were typed, and those of a list, if there is one.
  ///
  /// - Throws: as ``read(_:)``.
  static func all(_ typed: [String], _ list: Argument?) throws -> [String] {
    try typed + (list.map { try read($0) } ?? [])
  }

  /// Returns the URLs of a file, or of standard input for `-`.
  ///
  /// Empty lines and lines that begin with `#` are left out, as are blanks around a URL.
  ///
  /// - Throws: ``ToolError`` when the file cannot be read, is too large, or is not UTF-8.
  private static func read(_ path: Argument) throws -> [String] {
    let input = try InputFile(path)
    var bytes: [UInt8] = []
    while let piece = try input.read(upTo: 1 << 18) {
      bytes += piece
      if bytes.count > limit {
        throw ToolError(
          subject: path.description, problem: "the list is larger than \(ByteCount(UInt64(limit)))",
          remedy: "split it")
      }
    }
    return try addresses(in: bytes, of: path)
  }

  /// Refuses a URL with a name and password in it, without showing them, not even to the one who typed
  /// them: output ends up in files.
  static func checkCredentials(_ address: String, _ url: NormalizedURL) throws(ToolError) {
    guard hasCredentials(address) else { return }
    throw ToolError(
      subject: url.string, problem: "a name and password in a URL are not sent",
      remedy: "leave them out, and give --user NAME@HOST")
  }

  /// Tells whether there is user-info in front of the host (RFC 3986, section 3.2.1).
  static func hasCredentials(_ address: String) -> Bool {
    guard let start = address.firstRange(of: "//")?.upperBound else { return false }
    return address[start...].prefix { !"/?#".contains($0) }.contains("@")
  }

  private static func addresses(in bytes: [UInt8], of path: Argument) throws -> [String] {
    var result: [String] = []
    // Editors of other systems begin UTF-8 with a mark.
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let bare = FieldBytes.trimmed(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
      guard let address = String(validating: bare, as: UTF8.self) else {
        throw ToolError(
          subject: path.description, problem: "line \(index + 1) is not UTF-8",
          remedy: "percent-encode its bytes")
      }
      if !address.isEmpty, address.first != "#" { result.append(address) }
    }
    return result
  }
}

/// Hands out addresses, each to one of several tasks.
final class AddressQueue: Sendable {
  private let addresses: [String]
  private let position = Atomic<Int>(0)

  /// Creates a queue that begins with the first address.
  init(_ addresses: [String]) { self.addresses = addresses }

  /// Returns the next address, or nil when all are taken.
  func next() -> String? {
    let index = position.wrappingAdd(1, ordering: .relaxed).oldValue
    return index < addresses.count ? addresses[index] : nil
  }
}
