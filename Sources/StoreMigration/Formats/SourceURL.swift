internal import HTTPSemantics

/// Judges the URLs of a source. They are kept as they are written there: what normalises them is
/// the cache that they move into.
enum SourceURL {
  /// Refuses a text that is no URL of an entry.
  static func check(_ text: String) throws(RowError) {
    guard let scheme = scheme(of: text) else { throw RowError.skip(.badURL, "no scheme") }
    guard scheme == "http" || scheme == "https" else { throw RowError.skip(.notHTTPURL, scheme) }
    guard !text.unicodeScalars.contains(where: isForbidden) else {
      throw RowError.skip(.badURL, "a character that no URL has")
    }
    do throws(InvalidURL) {
      _ = try NormalizedURL(text)
    } catch { throw RowError.skip(.badURL, error.code.rawValue) }
  }

  /// Gives the scheme in lower case; nil without one.
  static func scheme(of text: String) -> String? {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = text[..<colon].utf8
    guard let first = scheme.first, isLetter(first),
      scheme.allSatisfy({ isLetter($0) || 48...57 ~= $0 || "+.-".utf8.contains($0) })
    else { return nil }
    return text[..<colon].lowercased()
  }

  /// Gives the extension of the last component of a URL's path, in lower case; empty without one.
  static func pathExtension(_ url: String) -> String {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
      let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")), dot > slash
    else { return "" }
    return path[path.utf8.index(after: dot)...].lowercased()
  }

  /// Gives a relative reference as an absolute URL (RFC 3986, section 5.2), the reference itself
  /// where the base is no HTTP URL.
  static func resolve(_ reference: String, against base: String) -> String {
    guard let base = try? NormalizedURL(base), let whole = try? base.resolving(reference) else {
      return reference
    }
    return whole.string
  }

  private static func isLetter(_ byte: UInt8) -> Bool { 97...122 ~= byte | 0x20 }

  /// White space and what RFC 3986 forbids, but for the brackets that clients send.
  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value <= 0x20 || (!scalar.isASCII && scalar.properties.isWhitespace)
      || "<>\"\\^`{|}".unicodeScalars.contains(scalar)
  }
}
