internal import CacheFormat
internal import HTTPSemantics

/// Checks the URLs of a source. They are kept unchanged; the destination normalises them.
enum SourceURL {
  /// Throws for a text that is not a URL of an entry.
  static func check(_ text: String) throws(RowError) {
    guard let scheme = scheme(of: text) else { throw RowError.skip(.badURL, "no scheme") }
    guard scheme == "http" || scheme == "https" else { throw RowError.skip(.notHTTPURL, scheme) }
    // It stands for bytes that are no text: with it, the key would be another one.
    guard !text.unicodeScalars.contains("\u{FFFD}") else {
      throw RowError.skip(.badURL, "bytes that are no text")
    }
    do throws(InvalidURL) {
      _ = try NormalizedURL(text)
    } catch { throw RowError.skip(.badURL, error.code.rawValue) }
  }

  /// Returns the scheme in lower case, or `nil` if there is none.
  static func scheme(of text: String) -> String? {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = text[..<colon].utf8
    guard let first = scheme.first, ASCII.isLetter(first), scheme.allSatisfy(ASCII.isSchemeByte)
    else { return nil }
    return text[..<colon].lowercased()
  }

  /// Returns the user name and password of a URL as RFC 7617 sends them, or `nil` if it has none.
  static func credentials(in url: String) -> String? {
    let authority = url.authority
    guard let end = authority.lastIndex(of: "@"), end > authority.startIndex else { return nil }
    let text = authority[..<end].contains(":") ? authority[..<end] : authority[..<end] + ":"
    let bytes = Array(text.utf8)
    return Base64.encode(PercentEncoding.decoded(bytes[...], isLax: true) ?? bytes)
  }

  /// Returns the extension of the last component of a URL's path, in lower case, or an empty text.
  static func pathExtension(_ url: String) -> String {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
      let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")), dot > slash
    else { return "" }
    return path[path.utf8.index(after: dot)...].lowercased()
  }

  /// Returns a relative reference as an absolute URL (RFC 3986, section 5.2), or the reference
  /// itself if the base is not an HTTP URL.
  static func resolve(_ reference: String, against base: String) -> String {
    guard let base = try? NormalizedURL(base), let whole = try? base.resolving(reference) else {
      return reference
    }
    return whole.string
  }
}
