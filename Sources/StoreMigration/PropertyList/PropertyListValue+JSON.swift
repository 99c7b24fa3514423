internal import CacheFormat

extension PropertyListValue {
  /// The value as JSON in one line. Data is `{"$data":"base64"}`, a date is `{"$date":"…Z"}` to the
  /// millisecond, and NaN or an infinity is null.
  var json: String {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.text
  }

  private func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.append("null")
    case .bool(let value): writer.append(value ? "true" : "false")
    case .integer(let value): writer.append(raw: "\(value)")
    case .real(let value): writer.appendNumber(value)
    case .string(let value): writer.appendText(value)
    case .data(let bytes):
      writer.append("{\"$data\":")
      writer.appendBase64(bytes)
      writer.append("}")
    case .date(let time): writer.append(raw: "{\"$date\":\"\(time.description.prefix(23))Z\"}")
    case .array(let values):
      writer.append("[")
      for (index, value) in values.enumerated() {
        if index > 0 { writer.append(",") }
        value.write(to: &writer)
      }
      writer.append("]")
    case .dictionary(let pairs):
      writer.append("{")
      var names = Names()
      for (index, pair) in pairs.enumerated() {
        if index > 0 { writer.append(",") }
        writer.appendText(names.unused(pair.key.textOfKey))
        writer.append(":")
        pair.value.write(to: &writer)
      }
      writer.append("}")
    }
  }

  /// The text of a key. One that is not a string, which only unusual lists have, is written as its
  /// JSON, but not a container: in keys within keys, each would escape, and so double, the one inside.
  private var textOfKey: String {
    switch self {
    case .string(let text): text
    case .array: "[]"
    case .dictionary: "{}"
    default: json
    }
  }
}

/// The names of one object. Of two equal ones, most readers of JSON keep one only.
private struct Names {
  private var used: Set<String> = []
  private var counts: [String: Int] = [:]

  /// Returns a name, with a number if it was used before: `a`, `a (2)`, `a (3)`.
  mutating func unused(_ name: String) -> String {
    var unused = name
    while !used.insert(unused).inserted {
      counts[name, default: 1] += 1
      unused = "\(name) (\(counts[name, default: 1]))"
    }
    return unused
  }
}
