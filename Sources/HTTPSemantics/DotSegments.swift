/// Removal of `.` and `..` from a path (RFC 3986, section 5.2.4).
enum DotSegments {
  /// Returns the path without dot segments; it starts with `/` even if the input is empty.
  ///
  /// A `..` above the root is dropped. Empty segments (`//`) are kept, because they are part of the
  /// name.
  ///
  /// - Complexity: O(*n*).
  static func removed(from path: [UInt8]) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    var segments: [ArraySlice<UInt8>] = []
    let parts = path.dropFirst().split(separator: slash, omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      let isLast = index == parts.count - 1
      if part.elementsEqual(".".utf8) {
        if isLast { segments.append([]) }
      } else if part.elementsEqual("..".utf8) {
        _ = segments.popLast()
        if isLast { segments.append([]) }
      } else {
        segments.append(part)
      }
    }
    var result: [UInt8] = []
    result.reserveCapacity(path.count + 1)
    for segment in segments {
      result.append(slash)
      result += segment
    }
    return result.isEmpty ? [slash] : result
  }
}
