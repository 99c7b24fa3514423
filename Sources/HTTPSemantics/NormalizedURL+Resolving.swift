extension NormalizedURL {
  /// Returns the URL that a reference in a response from this URL stands for, for example in
  /// `Location` (RFC 3986, section 5.2).
  ///
  /// Resolution is strict: `http:g` is not relative to this URL, and it is not a valid URL.
  /// Fragments are removed.
  ///
  /// - Throws: ``InvalidURL`` if the result is not a URL that can be fetched.
  /// - Complexity: O(*n*) in the length of both.
  public func resolving(_ reference: String) throws(InvalidURL) -> NormalizedURL {
    guard reference.utf8.count <= Self.maximumLength else {
      throw InvalidURL(.tooLong, in: reference)
    }
    let bytes = reference.utf8
    if Self.hasScheme(bytes) { return try NormalizedURL(reference) }
    if bytes.starts(with: "//".utf8) { return try NormalizedURL("\(scheme.rawValue):\(reference)") }
    let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
    let base: Substring.UTF8View
    switch bytes.first {
    case nil, UInt8(ascii: "#"): base = target.utf8[...]
    case UInt8(ascii: "/"): base = path.prefix(0)
    case UInt8(ascii: "?"): base = path
    default: base = Self.directory(of: path)
    }
    // The initializer removes the dot segments.
    return try NormalizedURL("\(origin)\(Substring(base))\(reference)")
  }

  /// The URL up to the target, such as `http://example.com:8080`.
  private var origin: Substring {
    Substring(string.utf8.dropLast(target.utf8.count))
  }

  /// Returns a path up to and including its last slash.
  private static func directory(of path: Substring.UTF8View) -> Substring.UTF8View {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return path.prefix(0) }
    return path[...slash]
  }

  private static func hasScheme(_ reference: String.UTF8View) -> Bool {
    guard let colon = reference.firstIndex(of: UInt8(ascii: ":")), let first = reference.first
    else { return false }
    return ASCII.isLetter(first) && reference[..<colon].allSatisfy(ASCII.isSchemeByte)
  }
}
