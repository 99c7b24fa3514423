import CacheFormat
import CacheStore
import TestSupport

/// Stores, replaces, removes, amends, pins: nothing goes that was not asked to.
@Sendable func workloadChange(_ step: Int, of count: Int, seed: Int, prefix: String) -> Change {
  let keys = max(1, count * 2 / 3)
  let key = "\(prefix)key\(step % keys)"
  // One that is there already, but for those that were removed.
  let older = "\(prefix)key\(step / 2 % keys)"
  let version = seed &* 1000 &+ step
  let note = ByteString("note \(version)")
  switch step % 14 {
  case 6, 13: return .remove(key: key)
  case 3: return .note(key: older, note)
  case 8: return .pin(key: older, true)
  case 11: return .pin(key: older, step % 28 < 14)
  case 4, 9: return .stream(key: key, body: ProbeBody.make(key, version), note: note)
  default: return .put(key: key, body: ProbeBody.make(key, version), note: note)
  }
}

/// Everything at once within narrow limits, so that entries are evicted all the time and the journal
/// is compacted again and again.
@Sendable func churnChange(_ step: Int, of count: Int, seed: Int, prefix: String) -> Change {
  if step == 0 { return .limit(ChurnLimits.wide) }
  var random = SplitMix64(seed: UInt64(bitPattern: Int64(seed &* 1_000_003 &+ step)))
  let key = "\(prefix)key\(random.next() % 24)"
  let version = Int(random.next() % 1_000_000)
  // Long notes make long records, so that there is something to compact.
  let note = ByteString("\(version)" + String(repeating: "n", count: Int(random.next() % 4_000)))
  let body = { ProbeBody.make(key, version) }
  // What concerns everybody is for one process alone, which can say what it means for all keys.
  let isAlone = prefix.isEmpty
  switch random.next() % 64 {
  case 0 where isAlone: return .removeAll
  case 1 where isAlone: return .limit(version % 2 == 0 ? ChurnLimits.wide : ChurnLimits.narrow)
  case 2: return .trim(100_000)
  case 3...5: return .rest
  case 6...9: return .remove(key: key)
  case 10...15: return .note(key: key, note)
  case 16...18: return .pin(key: key, true)
  case 19...22: return .pin(key: key, false)
  case 23...25:
    return .stream(key: key, body: ProbeBody.make(key, version, count: 150_000), note: note)
  case 26...32: return .stream(key: key, body: body(), note: note)
  default: return .put(key: key, body: body(), note: note)
  }
}

/// The limits of a churn, and how its lines call them.
enum ChurnLimits {
  static let wide = Limits(bytes: 700_000, entries: 16)
  static let narrow = Limits(bytes: 400_000, entries: 12, accounting: .logical)
  static let none = word(.none)

  static func word(_ limits: Limits) -> String {
    let bytes = limits.bytes.map { "\($0)" } ?? "-"
    let entries = limits.entries.map { "\($0)" } ?? "-"
    return "\(bytes)/\(entries)/\(limits.accounting == .logical ? "logical" : "allocated")"
  }
}
