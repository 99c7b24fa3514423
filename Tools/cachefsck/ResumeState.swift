import CacheFormat
import StoreChecking

/// The progress of an interrupted check, as lines of text (Docs/Fsck.md, "Interrupted checks").
struct ResumeState: Sendable, Hashable {
  /// The id of the store, 32 hex digits.
  var storeID: String
  var depth: CheckDepth
  var repair: RepairLevel?
  /// The time of writing, in nanoseconds since 1970.
  var saved: Int64
  var shards: Set<UInt8>
  /// The number of checked entries and of the bytes of their bodies; for the display of the
  /// progress.
  var entries: Int
  var bytes: UInt64
  /// The findings that a check of the remaining shards does not find again.
  var tally: Tally

  /// The limit on the size of the file, in bytes.
  static let maximumBytes = 16 << 10
  private static let title = "cachefsck state 1"

  /// The bytes of the file.
  var encoded: [UInt8] {
    var lines = [
      Self.title, "store \(storeID)", "depth \(depth.rawValue)",
      "repair \(repair?.rawValue ?? "none")", "saved \(saved)",
      "shards \(shards.sorted().map { Hexadecimal.string(UInt64($0), digits: 2) }.joined())",
      "entries \(entries)", "bytes \(bytes)",
    ]
    for kind in FindingKind.allCases {
      guard let count = tally[kind] else { continue }
      lines.append("found \(kind.rawValue) \(count.found) \(count.repaired) \(count.lostEntries)")
    }
    // A truncated file has no `end` line.
    return Array((lines + ["end"]).map { $0 + "\n" }.joined().utf8)
  }

  init(
    storeID: String, depth: CheckDepth, repair: RepairLevel?, saved: Int64,
    progress: CheckProgress, tally: Tally
  ) {
    self.storeID = storeID
    self.depth = depth
    self.repair = repair
    self.saved = saved
    shards = progress.shards
    entries = progress.entries
    bytes = progress.bytes
    self.tally = tally
  }

  /// Decodes a file. Returns `nil` if it is damaged or of another version.
  init?(decoding bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count >= 10, lines[0] == Self.title, lines[lines.count - 2] == "end",
      lines[lines.count - 1].isEmpty,
      let id = Self.value(lines[1], "store"), let depth = Self.value(lines[2], "depth"),
      let repair = Self.value(lines[3], "repair"), let saved = Self.value(lines[4], "saved"),
      let shards = Self.value(lines[5], "shards").flatMap(Self.shards),
      let entries = Self.value(lines[6], "entries").flatMap({ Int($0) }), entries >= 0,
      let bytes = Self.value(lines[7], "bytes").flatMap({ UInt64($0) }),
      max(UInt64(entries), bytes) < 1 << 62,
      let depth = CheckDepth(rawValue: depth), let saved = Int64(saved),
      repair == "none" || RepairLevel(rawValue: repair) != nil
    else { return nil }
    self.storeID = id
    self.depth = depth
    self.repair = RepairLevel(rawValue: repair)
    self.saved = saved
    (self.shards, self.entries, self.bytes) = (shards, entries, bytes)
    tally = [:]
    for line in lines[8..<(lines.count - 2)] {
      let words = line.split(separator: " ")
      guard words.count == 5, words[0] == "found",
        let kind = FindingKind(rawValue: String(words[1])), let found = Int(words[2]),
        let repaired = Int(words[3]), repaired >= 0, repaired <= found, found < 1 << 48,
        // A body of several variants is one finding.
        let lost = Int(words[4]), lost >= 0, lost < 1 << 48, repaired > 0 || lost == 0
      else { return nil }
      tally.add(kind, .init(found: found, repaired: repaired, lostEntries: lost))
    }
  }

  private static func value(_ line: Substring, _ name: String) -> String? {
    line.hasPrefix(name + " ") ? String(line.dropFirst(name.count + 1)) : nil
  }

  private static func shards(_ text: String) -> Set<UInt8>? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0, digits.count <= 512 else { return nil }
    var shards: Set<UInt8> = []
    for place in stride(from: 0, to: digits.count, by: 2) {
      guard let number = Hexadecimal.parse(digits[place..<(place + 2)]) else { return nil }
      shards.insert(UInt8(number))
    }
    return shards
  }
}
