/// Removes tags with too many attributes from HTML: libxml2 compares each attribute of a tag with
/// all those before it.
enum TagLimit {
  /// The limit of the spaces, slashes and quoted values in one tag.
  static let maximumParts = 1024

  /// Returns the text with each such tag overwritten by spaces.
  ///
  /// - Complexity: O(*n*).
  static func applied(to bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    var (start, parts, quote): (Int?, Int, UInt8?) = (nil, 0, nil)
    var previous: UInt8 = 0
    for (index, byte) in bytes.enumerated() {
      defer { previous = byte }
      guard let first = start else {
        // A tag starts with a letter.
        if previous == UInt8(ascii: "<"), 0x61...0x7A ~= byte | 0x20 {
          (start, parts, quote) = (index - 1, 0, nil)
        }
        continue
      }
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: ">") {
        if parts > maximumParts { blank(&result, first...index) }
        start = nil
      } else if isSpace(byte) || byte == UInt8(ascii: "/") {
        if !isSpace(previous) { parts += 1 }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        (parts, quote) = (parts + 1, byte)
      }
    }
    if let first = start, parts > maximumParts { blank(&result, first...(bytes.count - 1)) }
    return result
  }

  /// Overwrites a tag, up to an end tag in it: then it was no tag, but text of a script.
  private static func blank(_ bytes: inout [UInt8], _ range: ClosedRange<Int>) {
    for index in range {
      if index < range.upperBound, bytes[index] == UInt8(ascii: "<"),
        bytes[index + 1] == UInt8(ascii: "/")
      {
        return
      }
      bytes[index] = 0x20
    }
  }
}
