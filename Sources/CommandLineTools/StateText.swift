/// The text of a state file: a title, lines that begin with a name, and `end`, without which a file
/// was cut off.
package enum StateText {
  /// Returns the bytes of a file.
  package static func encode(_ title: String, _ lines: [String]) -> [UInt8] {
    Array(([title] + lines + ["end"]).map { $0 + "\n" }.joined().utf8)
  }

  /// Returns the lines of a file; `nil` if it is damaged, or has another title.
  package static func decode(_ title: String, _ bytes: [UInt8]) -> [Substring]? {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count >= 3, lines[0] == title, lines[lines.count - 2] == "end",
      lines[lines.count - 1].isEmpty
    else { return nil }
    return Array(lines[1..<(lines.count - 2)])
  }

  /// Returns what follows a name in a line; `nil` if the line has another name.
  package static func value(_ line: Substring, _ name: String) -> String? {
    line.hasPrefix(name + " ") ? String(line.dropFirst(name.count + 1)) : nil
  }
}
