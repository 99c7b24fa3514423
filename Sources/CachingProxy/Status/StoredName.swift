internal import CacheFormat

/// The URL, the host and the folder of an entry, from its key.
struct StoredName {
  /// The URL, or the whole key of an entry that has no URL.
  let url: String
  // The parts of the URL, or `nil` for an entry without one.
  private(set) var scheme: String?
  /// Host and port.
  private(set) var host: String?
  /// Host and first part of the path, such as `example.org/images/`.
  private(set) var folder: String?

  /// Parses a key such as `GET http://example.org/images/a.png`.
  init(key: ByteString) {
    let text = String(decoding: key.bytes, as: UTF8.self)
    let bytes = text.utf8
    guard let colon = bytes.indices.first(where: { bytes[$0...].starts(with: "://".utf8) }) else {
      url = text
      return
    }
    let begin = bytes[..<colon].lastIndex(of: UInt8(ascii: " ")).map(bytes.index(after:))
    url = String(text[(begin ?? text.startIndex)...])
    scheme = String(text[(begin ?? text.startIndex)..<colon])
    let rest = text[bytes.index(colon, offsetBy: 3)...]
    let hostEnd = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
    host = String(rest[..<(hostEnd ?? rest.endIndex)])
    folder = Self.folder(rest, hostEnd ?? rest.endIndex)
  }

  /// Returns the host and the first part of the path with its slash, or just the host if the path
  /// has no folder.
  private static func folder(_ rest: Substring, _ hostEnd: String.Index) -> String {
    let host = rest[..<hostEnd]
    let path = rest[hostEnd...].utf8.prefix { $0 != UInt8(ascii: "?") }.dropFirst()
    guard let slash = path.firstIndex(of: UInt8(ascii: "/")) else { return "\(host)/" }
    return String(rest[...slash])
  }
}
