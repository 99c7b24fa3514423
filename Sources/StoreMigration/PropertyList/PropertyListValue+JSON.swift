internal import CacheFormat

extension PropertyListValue {
  /// The value as JSON in one line; data is `{"$data":"base64"}`, a date `{"$date":"…Z"}` to the
  /// millisecond, and a number that is none null.
  var json: String {
    var text = ""
    write(to: &text)
    return text
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += "\(value)"
    case .real(let value): text += value.isFinite ? "\(value)" : "null"
    case .string(let value): Self.write(value, to: &text)
    case .data(let bytes):
      var encoded: [UInt8] = []
      Base64.encode(bytes, into: &encoded)
      text += "{\"$data\":\"\(String(decoding: encoded, as: UTF8.self))\"}"
    case .date(let time): text += "{\"$date\":\"\(time.description.prefix(23))Z\"}"
    case .array(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += "," }
        value.write(to: &text)
      }
      text += "]"
    case .dictionary(let pairs):
      text += "{"
      for (index, pair) in pairs.enumerated() {
        if index > 0 { text += "," }
        // A key that is no string, which only odd lists have, is written as its JSON.
        Self.write(pair.key.string ?? pair.key.json, to: &text)
        text += ":"
        pair.value.write(to: &text)
      }
      text += "}"
    }
  }

  private static func write(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\u{0}"..."\u{1F}", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
