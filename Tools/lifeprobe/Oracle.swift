import CacheFormat
import CacheStore

struct Expected: Hashable {
  var body: BodySeed
  var metadata: EntryMetadata
  var isPinned = false
  var isSpare: Bool { metadata.tags.contains("spare") }
  /// The place in the order of accesses; later ones are greater.
  var accessed = 0
  /// The bytes of the metadata file and the directory, in blocks.
  var overhead: UInt64 = 0
  /// The bytes of the record in the journal.
  var record: Int64 = 0
  /// Whether the metadata file has the body.
  var isEmbedded = false
  /// The bytes of a body file of its own, in blocks.
  var bodyBytes: UInt64 { isEmbedded ? 0 : (UInt64(body.count) + 4095) / 4096 * 4096 }
}

/// The entries that a store has to have, by the documented rules alone (Docs/Architecture.md, "Put"
/// and "The journal"): a put evicts the least recently accessed entries, as many as it needs; if it
/// needed any, more go as long as 95 percent of the limit stay in use. While spare entries take more
/// than a quarter, only they go.
struct Oracle {
  var entries: [ByteString: Expected] = [:]
  var limits: Limits
  private var turn = 0

  /// The most bytes of bodies in the journal; 0 if there are none.
  private let logBytes: Int64

  /// Whether small bodies are in the metadata files.
  var embeds: Bool { logBytes > 0 }

  init(limits: Limits, logBytes: Int64) {
    self.limits = limits
    self.logBytes = logBytes
  }

  /// The bytes of bodies in the journal that are held against the byte limit, at most an eighth of it.
  var log: Int64 {
    guard limits.accounting == .allocated, let most = limits.bytes else { return logBytes }
    return Int64(most / 8) < logBytes ? 0 : logBytes
  }

  mutating func touch(_ key: ByteString) {
    turn += 1
    entries[key]?.accessed = turn
  }

  // MARK: Room

  /// The bytes of the body files; those with equal bodies share one.
  private static func bodyBytes(_ entries: some Sequence<Expected>) -> UInt64 {
    var sizes: [BodySeed: UInt64] = [:]
    for entry in entries { sizes[entry.body] = entry.bodyBytes }
    return sizes.values.reduce(0, +)
  }

  /// The bytes that the journal is charged with.
  static func journal(live: Int64, limit: UInt64?) -> Int64 {
    var spare: Int64 = 1 << 20
    if let limit { spare = min(spare, max(Int64(limit / 16), 4096)) }
    var dead = live + spare
    if let limit { dead = min(dead, Int64(limit / 8) - live) }
    return live + max(spare / 2, dead)
  }

  /// The bytes that are held against the byte limit.
  func used(without gone: ByteString? = nil, isHeld: Bool = false) -> UInt64 {
    let all = entries.filter { $0.key != gone }
    if limits.accounting == .logical {
      return all.values.reduce(0) { $0 + UInt64($1.body.count) }
    }
    let bodies = Self.bodyBytes(all.values)
    let overhead = all.values.reduce(0) { $0 + $1.overhead }
    let live = all.values.reduce(0) { $0 + $1.record }
    let journal = isHeld ? live : Self.journal(live: live, limit: limits.bytes)
    return bodies + overhead + UInt64(journal) + (isHeld ? 0 : UInt64(log))
  }

  /// The entry that has to go first, for the limit of the entries or that of the bytes.
  private func oldest(butNot key: ByteString?, forCount: Bool) -> ByteString? {
    let others = entries.filter { !$0.value.isPinned && $0.key != key }
    let spare = others.filter { $0.value.isSpare }
    let all = !spare.isEmpty && exceedsShare(forCount: forCount) ? spare : others
    return all.min { $0.value.accessed < $1.value.accessed }?.key
  }

  /// The entry that has to go first for the limit that does not hold.
  func oldest(butNot key: ByteString?) -> ByteString? {
    oldest(butNot: key, forCount: hasTooMany)
  }

  private func exceedsShare(forCount: Bool) -> Bool {
    let spare = entries.values.filter(\.isSpare)
    if forCount { return spare.count > entries.count / 4 }
    if limits.accounting == .logical {
      return spare.reduce(0) { $0 + $1.body.count }
        > entries.values.reduce(0) { $0 + $1.body.count } / 4
    }
    let all = Self.bodyBytes(entries.values)
    return spare.reduce(0) { $0 + $1.bodyBytes + $1.overhead }
      > (all + entries.values.reduce(0) { $0 + $1.overhead }) / 4
  }

  private var hasTooMany: Bool { limits.entries.map { UInt64(entries.count) > $0 } ?? false }

  var isOverLimit: Bool { hasTooMany || limits.bytes.map { used() > $0 } ?? false }

  /// Evicts what does not fit beside an entry that was just stored, then down to the low-water mark.
  ///
  /// - Returns: what has to go in this order, or nil if what is pinned leaves no room.
  mutating func makeRoom(for key: ByteString) -> [ByteString]? {
    var gone: [ByteString] = []
    while isOverLimit {
      guard let victim = oldest(butNot: key) else { return nil }
      gone.append(victim)
      entries[victim] = nil
    }
    if gone.isEmpty { return [] }
    while true {
      let isCrowded = limits.entries.map { UInt64(entries.count) > $0 - $0 / 20 } ?? false
      guard let victim = oldest(butNot: nil, forCount: isCrowded) else { break }
      let isFull = limits.bytes.map { used(without: victim) >= $0 - $0 / 20 } ?? false
      if !isCrowded && !isFull { break }
      gone.append(victim)
      entries[victim] = nil
    }
    return gone
  }

  /// Evicts until the limits hold, and no more.
  mutating func keepLimits() {
    while isOverLimit, let victim = oldest(butNot: nil) { entries[victim] = nil }
  }

  mutating func trim(to bytes: UInt64) {
    while used(isHeld: true) > bytes, let victim = oldest(butNot: nil) { entries[victim] = nil }
  }
}

/// Stands for a body: what made its bytes.
struct BodySeed: Hashable {
  var seed: UInt64
  var count: Int
}
