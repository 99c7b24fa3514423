package import CacheFormat
internal import CacheSystem

/// The source of the bytes of a body.
enum BodySource {
  case bytes([UInt8])
  case staged(StagedFile)
}

/// The file of a body in the staging directory.
struct StagedFile: Sendable {
  var name: PathName
  var session: Session
  /// The open file. It has the bytes also after its name was moved to the entry, or removed there.
  var content: StagedBody
}

/// The times of an entry that another cache has kept.
///
/// Times in the future are clamped to now. Such an entry is evicted in the order of its access
/// time, and no entry that was accessed later is evicted for it.
package struct ImportedTimes: Sendable, Hashable {
  /// The time at which the other cache stored it; `nil` for now.
  package var created: Timestamp?
  /// The time of its last access.
  package var accessed: Timestamp

  /// Creates the times.
  package init(created: Timestamp?, accessed: Timestamp) {
    self.created = created
    self.accessed = accessed
  }
}

/// An entry to be stored.
struct NewEntry {
  var key: ByteString
  var variant: UInt64
  var metadata: EntryMetadata
  var digest: Digest
  var length: UInt64
  var body: BodySource
  /// The times in another cache; `nil` for a new response.
  var past: ImportedTimes? = nil
  /// Whether the body, which is in memory, will be in the metadata file instead of a file of its own.
  var isEmbedded = false

  /// Whether it has the tag `spare`.
  var isSpare: Bool { metadata.isSpare }

  /// Whether the body is in a file already.
  var isStaged: Bool {
    if case .staged = body { true } else { false }
  }

  /// The body that will be in the metadata file; `nil` if it gets a file of its own.
  var embeddedBody: [UInt8]? {
    if isEmbedded, case .bytes(let bytes) = body { bytes } else { nil }
  }

  /// The bytes for the body that a record in the log needs room for: none for one that stays in the
  /// record.
  var loggedBytes: Int { isEmbedded ? 0 : RecordFrame.padded(Int(length)) }

  /// Makes the description of the entry.
  func stored(digest: Digest, at moment: PutRecord.Moment) -> StoredEntry {
    StoredEntry(
      key: key, variant: variant, digest: digest, length: length, created: moment.created,
      accessed: moment.accessed, isPinned: moment.isPinned, metadata: metadata)
  }

  /// Makes a record of the entry without times, pin and body file. Its size and overhead are those
  /// that the entry will have.
  ///
  /// - Throws: `metadataTooLarge`.
  func record(_ hash: KeyHash, in tree: Tree) throws(StoreError) -> PutRecord {
    let time = Timestamp(nanoseconds: 0)
    let stored = stored(
      digest: digest, at: PutRecord.Moment(created: time, accessed: time, isPinned: false))
    return PutRecord(
      stored, hash, bodyFile: 0, overhead: try tree.plannedOverhead(stored, embeddedBody),
      isEmbedded: isEmbedded)
  }
}

/// The entries of a key in the index before a change. Valid as long as the shard of the key is
/// locked.
struct Before {
  /// The variant that will be replaced.
  var old: Slot?
  /// The other variants of the key.
  var others: [Slot]
  /// The variants beyond the allowed number, least recently accessed first.
  var surplus: [Slot]
  /// An entry whose body has the same digest and length.
  var sharing: Located?
  /// The access time of the new entry.
  var tick: Int64
  /// The lowest sequence number that the next record can have.
  var nextSequence: UInt64

  /// All variants of the key.
  var all: [Slot] { (old.map { [$0] } ?? []) + others }
  var hasFiles: Bool { all.contains { !$0.isUnsettled } }
  /// The settled entries that the new one replaces or displaces.
  var doomed: [Slot] { gone.filter { !$0.isUnsettled } }
  /// The entries in the log that the new one replaces or displaces.
  var logged: [Slot] { gone.filter(\.isUnsettled) }
  private var gone: [Slot] { (old.map { [$0] } ?? []) + surplus }

  /// Reads the entries of a key from the index.
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

  /// Reads the entries of a key from the index, one of which is to be settled.
  init(_ state: inout StoreState, settling slot: Slot) {
    others = state.index.variants(of: slot.keyHash).map { state.index[$0] }
      .filter { $0.variant != slot.variant }
    surplus = []
    sharing = state.index.sharing(slot.digest, length: slot.length).map { state.located($0) }
    tick = slot.accessed
    nextSequence = state.journal.sequence &+ 1
  }

  /// Returns whether the index still has the same entries of the key. Those that are not settled may
  /// change without the lock of the shard. Of the others, compaction may have copied the record.
  func isCurrent(_ state: borrowing StoreState, _ hash: KeyHash) -> Bool {
    let (now, known) = (state.index.variants(of: hash), all)
    return now.count == known.count
      && now.allSatisfy { number in
        let slot = state.index[number]
        return known.contains { old in
          old.variant == slot.variant
            && (old.isSameRecord(as: slot)
              || !old.isUnsettled && !slot.isUnsettled && old.digest == slot.digest)
        }
      }
  }
}
