package import CacheFormat
internal import CacheSystem

/// Where the bytes of a body come from.
enum BodySource {
  case bytes([UInt8])
  /// A file in the staging directory.
  case staged(PathName, Session)
}

/// The times of an entry that another cache has kept before.
///
/// Neither is later than now when the entry has been stored: what is to come is taken for now. Such
/// an entry takes its place in the order of eviction by its time, and never the place of one that
/// was asked for later.
package struct Past: Sendable, Hashable {
  /// When it was stored there; nil: it counts as stored now.
  package var created: Timestamp?
  /// When it was asked for last.
  package var accessed: Timestamp

  /// Creates the times.
  package init(created: Timestamp?, accessed: Timestamp) {
    self.created = created
    self.accessed = accessed
  }
}

/// What is to be stored.
struct NewEntry {
  var key: ByteString
  var variant: UInt64
  var metadata: EntryMetadata
  var digest: Digest
  var length: UInt64
  var body: BodySource
  /// `nil` if it is stored now.
  var past: Past? = nil

  /// Makes the description of the entry.
  func stored(
    digest: Digest, created: Timestamp, accessed: Timestamp, isPinned: Bool
  ) -> StoredEntry {
    StoredEntry(
      key: key, variant: variant, digest: digest, length: length, created: created,
      accessed: accessed, isPinned: isPinned, metadata: metadata)
  }
}

/// What the index says of a key before it is changed; valid as long as its shard is locked.
struct Before {
  /// The variant that will be replaced.
  var old: Slot?
  /// The other variants of the key.
  var others: [Slot]
  /// Variants beyond the allowed number, least recently accessed first.
  var surplus: [Slot]
  /// An entry with an equal body.
  var sharing: Located?
  /// The access time of the new entry.
  var tick: Int64
  /// The least number that the next record can have.
  var nextSequence: UInt64

  /// All variants of the key.
  var all: [Slot] { (old.map { [$0] } ?? []) + others }
  var hasVariants: Bool { old != nil || !others.isEmpty }

  /// Looks at the index.
  init(_ state: inout StoreState, _ hash: KeyHash, _ entry: NewEntry, now: Int64) {
    let all = state.index.variants(of: hash).map { state.index[$0] }
    old = all.first { $0.variant == entry.variant }
    others = all.filter { $0.variant != entry.variant }
    let surplusCount = max(0, others.count + 1 - Store.maximumVariants)
    surplus = Array(
      others.filter { !$0.isPinned }.sorted { $0.accessed < $1.accessed }.prefix(surplusCount))
    sharing = state.index.sharing(entry.digest, length: entry.length).map { state.located($0) }
    tick = state.tick(now)
    nextSequence = state.journal.sequence &+ 1
  }
}
