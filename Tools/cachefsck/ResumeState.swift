import CacheFormat
import CommandLineTools
import StoreChecking

/// The progress of an interrupted check, as lines of text (Docs/Fsck.md, "Interrupted checks").
struct ResumeState: Sendable, Hashable {
  /// The id of the store, 32 hex digits.
  var storeID: String
  var depth: CheckDepth
  /// The time of writing, in nanoseconds since 1970.
  var saved: Int64
  var shards: Set<UInt8>
  /// The number of checked entries and of the bytes of their bodies; for the display of the
  /// progress.
  var entries: Int
  var bytes: UInt64
  /// The findings that a check of the remaining shards does not find again.
  var tally: Tally

  static let maximumBytes = 16 << 10
  private static let title = "cachefsck state 2"

  var encoded: [UInt8] {
    var lines = [
      "store \(storeID)", "depth \(depth.rawValue)", "saved \(saved)",
      "shards \(shards.sorted().map { Hexadecimal.string(UInt64($0), digits: 2) }.joined())",
      "entries \(entries)", "bytes \(bytes)",
    ]
    for kind in FindingKind.allCases {
      guard let count = tally[kind] else { continue }
      lines.append("found \(kind.rawValue) \(count.found)")
    }
    return StateText.encode(Self.title, lines)
  }

  init(storeID: String, depth: CheckDepth, saved: Int64, progress: CheckProgress, tally: Tally) {
    self.storeID = storeID
    self.depth = depth
    self.saved = saved
    shards = progress.shards
    entries = progress.entries
    bytes = progress.bytes
    self.tally = tally
  }

  /// Decodes a file. Returns `nil` if it is damaged or of another version.
  init?(decoding bytes: [UInt8]) {
    guard let lines = StateText.decode(Self.title, bytes), lines.count >= 6,
      let id = StateText.value(lines[0], "store"), let depth = StateText.value(lines[1], "depth"),
      let saved = StateText.value(lines[2], "saved").flatMap({ Int64($0) }),
      let shards = StateText.value(lines[3], "shards").flatMap(Self.shards),
      let entries = StateText.value(lines[4], "entries").flatMap({ Int($0) }), entries >= 0,
      let bytes = StateText.value(lines[5], "bytes").flatMap({ UInt64($0) }),
      max(UInt64(entries), bytes) < 1 << 62, let depth = CheckDepth(rawValue: depth)
    else { return nil }
    self.storeID = id
    self.depth = depth
    self.saved = saved
    (self.shards, self.entries, self.bytes) = (shards, entries, bytes)
    tally = [:]
    for line in lines[6...] {
      let words = line.split(separator: " ")
      guard words.count == 3, words[0] == "found",
        let kind = FindingKind(rawValue: String(words[1])), let found = Int(words[2]),
        found >= 0, found < 1 << 48
      else { return nil }
      tally.add(kind, .init(found: found))
    }
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
