import CacheFormat

enum PEM {
  /// Returns the contents of all blocks with a label. A block that is damaged is left out.
  static func contents(of label: String, in text: String) -> [[UInt8]] {
    var found: [[UInt8]] = []
    var lines: [Substring]?
    for line in text.split(whereSeparator: \.isNewline) {
      if line == "-----BEGIN \(label)-----" {
        lines = []
      } else if line == "-----END \(label)-----" {
        let bytes = lines.flatMap { Base64.decode($0.flatMap { Array($0.utf8) }) }
        if let bytes, !bytes.isEmpty { found.append(bytes) }
        lines = nil
      } else {
        lines?.append(line)
      }
    }
    return found
  }
}
