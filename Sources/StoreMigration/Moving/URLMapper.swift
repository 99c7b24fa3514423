internal import HTTPSemantics

struct URLMapper {
  private let mappings: [URLMapping]

  init(_ mappings: [URLMapping]) { self.mappings = mappings }

  /// Returns the mapped URL for a URL of the source, in normal form.
  func url(of text: String) throws(MoveFailure) -> NormalizedURL {
    do throws(InvalidURL) {
      return try NormalizedURL(mapped(text) ?? text)
    } catch { throw .skip(.badMappedURL, error.code.rawValue) }
  }

  /// Returns the URL by the first mapping that matches, or `nil` if none does.
  func mapped(_ text: String) -> String? {
    for mapping in mappings {
      if text.hasPrefix(mapping.old) { return mapping.new + text.dropFirst(mapping.old.count) }
      if let normal = try? NormalizedURL(text).string, normal.hasPrefix(mapping.old) {
        return mapping.new + normal.dropFirst(mapping.old.count)
      }
    }
    return nil
  }

  /// Returns a key of the source without the credentials of a URL.
  static func shown(_ key: String) -> String {
    guard let mark = key.firstRange(of: "://") else { return key }
    let rest = key[mark.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard let at = authority.lastIndex(of: "@") else { return key }
    return String(key[..<mark.upperBound]) + rest[rest.index(after: at)...]
  }
}
