/// The lines of a list that a user writes, with one item on each.
package enum ItemLines {
  /// A line that is not UTF-8.
  package struct NotUTF8: Error {
    /// The number of the line, from 1.
    package let line: Int
  }

  /// Returns the lines with an item, without surrounding blanks, and their numbers, from 1. Empty lines
  /// and those that begin with `#` are left out.
  package static func items(
    in bytes: [UInt8]
  ) throws(NotUTF8) -> [(number: Int, text: String)] {
    var items: [(number: Int, text: String)] = []
    // Some editors write a byte order mark at the start of UTF-8 files.
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let bare = FieldBytes.trimmed(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
      guard let item = String(validating: bare, as: UTF8.self) else {
        throw NotUTF8(line: index + 1)
      }
      if !bare.isEmpty, bare.first != UInt8(ascii: "#") { items.append((index + 1, item)) }
    }
    return items
  }
}
