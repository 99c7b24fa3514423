import CacheFormat
import CacheSystem
import CommandLineTools

/// Returns the time `seconds` from now; a negative number gives a time in the past.
func secondsFromNow(_ seconds: Double) -> Timestamp {
  Timestamp(nanoseconds: SystemClock().now()).advanced(bySeconds: seconds)
}

extension Duration {
  var seconds: Double { self / .seconds(1) }

  /// The length in whole seconds, rounded up.
  var wholeSeconds: Int64 { components.seconds + (components.attoseconds > 0 ? 1 : 0) }
}

/// Returns a time as text for people, in UTC and to the second: `2026-01-31T23:59:59Z`.
func dateText(_ time: Timestamp) -> String { time.description.prefix(19) + "Z" }

extension EntryInfo {
  /// The entry with all its metadata, as JSON.
  ///
  /// JSON text is Unicode. In a key that is not UTF-8, `key` has replacement characters, and
  /// `key_hex` has the bytes. Those of a field follow its name and value; those of tags are in `tags_hex`.
  var json: JSONText {
    var members: [(String, JSONText)] = [("key", .string(key.description))]
    if key.string == nil { members.append(("key_hex", .string(key.bytes.hexadecimal))) }
    members += [
      ("variant", .string(String(variant, radix: 16))), ("digest", .string(digest.description)),
      ("length", .count(length)), ("created", .string(created.description)),
      ("accessed", .string(accessed.description)),
      ("expires", .text(expires?.description)), ("pinned", .bool(isPinned)),
      ("status", .count(status)), ("fields", json(of: fields)),
      ("user_info", json(of: userInfo)),
      ("tags", .array(tags.map { .string($0.description) })),
    ]
    if tags.contains(where: { $0.string == nil }) {
      members.append(("tags_hex", .array(tags.map { .string($0.bytes.hexadecimal) })))
    }
    return .object(members)
  }

  /// Returns an array of pairs, because a name may occur more than once.
  private func json(of fields: [Field]) -> JSONText {
    .array(
      fields.map { field in
        let pair = [JSONText.string(field.name.description), .string(field.value.description)]
        let isText = field.value.string != nil
        return .array(isText ? pair : pair + [.string(field.value.bytes.hexadecimal)])
      })
  }
}

extension Output {
  /// Writes a key and a line feed. To a terminal the key is escaped; to a file or a program it is
  /// written unchanged.
  func writeKeyLine(_ prefix: String, _ key: ByteString) throws(OutputError) {
    if isTerminal {
      try writeLine(prefix + terminalSafe(key.bytes))
    } else {
      try write(Array(prefix.utf8) + key.bytes + [UInt8(ascii: "\n")])
    }
  }
}
