internal import HTTPSemantics

/// Gives entries the URLs that they are to have.
struct URLMapper {
  private let mappings: [URLMapping]

  init(_ mappings: [URLMapping]) { self.mappings = mappings }

  /// Gives the normal form of a URL of the source, mapped.
  func url(of text: String) throws(MoveFailure) -> NormalizedURL {
    do throws(InvalidURL) {
      return try NormalizedURL(mapped(text) ?? text)
    } catch { throw .skip(.badMappedURL, error.code.rawValue) }
  }

  /// Gives what the first mapping that fits makes of a URL; nil where none fits.
  func mapped(_ text: String) -> String? {
    for mapping in mappings {
      if text.hasPrefix(mapping.old) { return mapping.new + text.dropFirst(mapping.old.count) }
      if let normal = try? NormalizedURL(text).string, normal.hasPrefix(mapping.old) {
        return mapping.new + normal.dropFirst(mapping.old.count)
      }
    }
    return nil
  }

  /// Gives a key of the source without the credentials that a URL may have.
  static func shown(_ key: String) -> String {
    guard let mark = key.firstRange(of: "://") else { return key }
    let rest = key[mark.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard let at = authority.lastIndex(of: "@") else { return key }
    return String(key[..<mark.upperBound]) + rest[rest.index(after: at)...]
  }
}
