import CacheFormat
import CommandLineOptions

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Returns the time that lies so many seconds from now; before now when negative.
func secondsFromNow(_ seconds: Double) -> Timestamp {
  var now = timespec()
  // Safety: clock_gettime fills the local.
  unsafe clock_gettime(CLOCK_REALTIME, &now)
  return Timestamp(seconds: Double(now.tv_sec)).advanced(bySeconds: seconds)
}

/// Writes a time as RFC 3339 has it, in UTC and to the second: `2026-01-31T23:59:59Z`.
func dateText(_ time: Timestamp) -> String {
  let (days, second) = floorDivide(floorDivide(time.nanoseconds, 1_000_000_000).0, 86_400)
  let (year, month, day) = civilDate(days)
  func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
  let clock = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
  return "\(year)-\(two(month))-\(two(day))T\(clock)Z"
}

/// Divides, rounding down, so that times before 1970 come out right.
private func floorDivide(_ value: Int64, _ divisor: Int64) -> (Int64, Int64) {
  let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
  return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}

/// Returns the date of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
///
/// After Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years
/// are counted from March, so that the leap day is the last one.
private func civilDate(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
  let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let marchMonth = (5 * dayOfYear + 2) / 153
  let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
  let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
}

extension EntryInfo {
  /// All that is known of the entry, as JSON.
  ///
  /// JSON text is Unicode: what is not UTF-8 is repaired in `key`, and `key_hex` then has the bytes.
  var json: JSONText {
    var members: [(String, JSONText)] = [("key", .string(key.description))]
    if key.string == nil { members.append(("key_hex", .string(hexadecimal(key.bytes)))) }
    members += [
      ("variant", .string(String(variant, radix: 16))), ("digest", .string(digest.description)),
      ("length", .count(length)), ("created", .string(dateText(created))),
      ("accessed", .string(dateText(accessed))),
      ("expires", expires.map { .string(dateText($0)) } ?? .null), ("pinned", .bool(isPinned)),
      ("status", status.map { .count($0) } ?? .null), ("fields", json(of: fields)),
      ("user_info", json(of: userInfo)),
      ("tags", .array(tags.map { .string($0.description) })),
    ]
    return .object(members)
  }

  /// Pairs, since a name may occur twice.
  private func json(of fields: [Field]) -> JSONText {
    .array(
      fields.map { .array([.string($0.name.description), .string($0.value.description)]) })
  }
}

/// Writes bytes as hex digits.
private func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

extension Output {
  /// Writes a key and a line feed: as it is to a file or a program, escaped to a terminal.
  func writeKeyLine(_ prefix: String, _ key: ByteString) throws(OutputError) {
    if isTerminal {
      try writeLine(prefix + terminalSafe(key.bytes))
    } else {
      try write(Array(prefix.utf8) + key.bytes + [UInt8(ascii: "\n")])
    }
  }
}
