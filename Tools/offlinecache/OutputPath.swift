import CacheFormat
import HTTPSemantics

/// Maps URLs to paths below a folder, for `fetch --output-dir`.
enum OutputPath {
  /// Returns `scheme/host[:port]/path[?query]` for a URL, with the escapes of the path decoded.
  ///
  /// The result never leaves the folder and never has an empty part, a `.` or a `..`. `/`, `%`,
  /// `?`, control characters and the zero byte stay encoded, and an empty part becomes `%`. A path
  /// that ends with a slash gets the name `index.html`. So two URLs never share a file, except `x/`
  /// and `x/index.html`. A `%` is always followed by two digits, or alone in its part. In a part
  /// that is too long for a file name, `%%` and a digest stand for what is left out.
  static func path(for url: NormalizedURL) -> [UInt8] {
    var (path, query) = split(url.target)
    if path.last == slash { path += Array("index.html".utf8) }
    var result = Array("\(url.scheme.rawValue)/\(host(of: url))".utf8)
    for part in path.dropFirst().split(separator: slash, omittingEmptySubsequences: false) {
      result.append(slash)
      result += safeName(part)
    }
    if let query { result += [question] + query.flatMap { $0 == slash ? Self.slashInQuery : [$0] } }
    return Array(result.split(separator: slash).map(shortened).joined(separator: [slash]))
  }

  /// Returns a file name for a URL within one folder: the last part of the path, with escapes
  /// decoded as in ``path(for:)``, or `index.html`. If that is not UTF-8, all bytes that are not
  /// ASCII stay encoded. A name that is too long for a file is shortened before its extension.
  static func fileName(for url: NormalizedURL) -> String {
    let (path, _) = split(url.target)
    let part = path.split(separator: slash, omittingEmptySubsequences: false).last ?? []
    if part.isEmpty { return "index.html" }
    let name = safeName(part)
    return shortened(
      String(validating: name, as: UTF8.self) ?? PercentEncoding.escaped(name) { $0 < 0x80 })
  }

  /// The longest name of a file, in bytes (NAME_MAX).
  private static let longestName = 255
  /// The longest end of a name that is kept as its extension, in bytes, such as `.tar.gz`.
  private static let longestExtension = 16

  private static func shortened(_ name: String) -> String {
    guard name.utf8.count > longestName else { return name }
    let end = name.utf8.suffix(longestExtension)
    let kept = end.firstIndex(of: dot).map { name[$0...] } ?? ""
    var cut = name.utf8.index(name.startIndex, offsetBy: longestName - kept.utf8.count)
    while cut.samePosition(in: name.unicodeScalars) == nil { cut = name.utf8.index(before: cut) }
    return String(name[..<cut] + kept)
  }

  /// Leaves one byte for ``OutputFolder``, which may append one.
  private static func shortened(_ part: ArraySlice<UInt8>) -> [UInt8] {
    guard part.count >= longestName else { return Array(part) }
    let end = part.suffix(longestExtension)
    let kept = end.firstIndex(of: dot).map { part[$0...] } ?? []
    let digest = Array("%%\(Digest(hashing: Array(part)))".utf8)
    var start = part.prefix(longestName - 1 - digest.count - kept.count + 1)
    // No character is cut.
    while start.last.map({ $0 & 0xC0 == 0x80 }) == true { start.removeLast() }
    return start.dropLast() + digest + kept
  }

  private static let percent = UInt8(ascii: "%")
  /// `/` in a query. The escape that a URL may have there has an upper-case F.
  private static let slashInQuery = Array("%2f".utf8)
  private static let question = UInt8(ascii: "?")

  /// Returns the host, with the port if it is not the scheme's default.
  private static func host(of url: NormalizedURL) -> String {
    url.port == url.scheme.defaultPort ? url.host : "\(url.host):\(url.port)"
  }

  private static func split(_ target: String) -> (path: [UInt8], query: [UInt8]?) {
    let bytes = Array(target.utf8)
    guard let index = bytes.firstIndex(of: question) else { return (bytes, nil) }
    return (Array(bytes[..<index]), Array(bytes[(index + 1)...]))
  }

  /// Decodes the escapes of one part, except bytes that a file name must not have.
  private static func safeName(_ part: ArraySlice<UInt8>) -> [UInt8] {
    let decoded = PercentEncoding.decoded(part, isLax: true) ?? []
    let result = decoded.flatMap { isUnsafe($0) ? escape($0) : [$0] }
    if result.isEmpty { return [percent] }
    // A dot that was written as %2E must not lead to the folder above, either.
    if result == [dot] || result == [dot, dot] { return result.flatMap(escape) }
    return result
  }

  private static let dot = UInt8(ascii: ".")

  private static func isUnsafe(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == 0x7F || byte == slash || byte == percent || byte == question
  }

  private static func escape(_ byte: UInt8) -> [UInt8] {
    var escape: [UInt8] = []
    PercentEncoding.appendEscape(of: byte, to: &escape)
    return escape
  }
}
