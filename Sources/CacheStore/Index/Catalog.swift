package import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The contents of a store according to its journal: the files of the journal, and the index. The
/// index is made from them, and kept up to date with the records that other processes append.
///
/// - `Catalog+Load`, `+Follow`, `+Linked`, `+ClosingMark` read the journal into the index.
/// - `Catalog+Append`, `+Sync`, `+Touches`, `+Compact`, `+Removed` write it.
/// - `Catalog+Settle`, `+SettleSteps` write the files of entries in the log; `+FailedSync` writes them
///   anew if the volume could not be synchronized.
/// - `Catalog+Shards` keeps track of the directory `entries`, which `removeAll` replaces.
/// - `Catalog+Open` opens and closes the store; `Catalog+Checking` has the queries of a check.
package final class Catalog: Sendable {
  let path: String
  let durability: Durability
  let isReadOnly: Bool
  /// Whether the upkeep does nothing by itself.
  let isSupervised: Bool
  let place: StorePlace
  let hashSeed: UInt64
  let fileSystem: any FileSystem
  let clock: any WallClock
  let journal: Journal
  package let tree: Tree
  let state: Lock<StoreState>
  let upkeep: Upkeep
  let pendingTouches = PendingTouches()
  /// The nanoseconds for which an entry may be in the log only; 0 if this process stores no bodies
  /// there.
  let settlingDelay: Int64
  /// The part of the log that has been settled.
  let settling = Mutex(SettlingProgress())
  /// Whether the volume has so little room that bodies are stored in files at once.
  let isVolumeTight = Atomic(false)
  /// The number of the last record when the store last looked whether it may rest.
  let restSequence = Atomic<UInt64>(0)
  private let sharedTail: JournalTail

  init(
    _ tree: Tree, _ upkeep: Upkeep, _ options: Options
  ) throws(StoreError) {
    self.tree = tree
    self.upkeep = upkeep
    path = tree.path
    durability = options.durability
    isReadOnly = options.isReadOnly
    isSupervised = options.isSupervised
    settlingDelay = options.isReadOnly ? 0 : options.settling.nanoseconds
    place = tree.place
    hashSeed = tree.hashSeed
    fileSystem = options.fileSystem
    clock = options.clock
    journal = tree.journal
    let entries = EntriesDirectory(generation: 0, directory: try place.openEntries(options))
    let state = StoreState(
      blockBytes: place.blockBytes, entries: entries, memoryBytes: options.memoryBytes,
      lag: options.lag, writesTouches: !options.isReadOnly)
    sharedTail = state.journal.sharedTail
    self.state = Lock(state, .store)
  }

  /// Returns the hash of a key in this store.
  @inline(__always)
  func hash(_ key: ByteString) -> KeyHash { KeyHash(hashing: key, seed: hashSeed) }

  /// Compares the length of the journal with the part that has been read, without locking the
  /// state.
  ///
  /// - Returns: the end of the part that was read, if that was the whole journal; `nil` if there is
  ///   more to read.
  @inline(__always)
  func settledTail() -> JournalTail.Mark? {
    let mark = sharedTail.mark
    guard mark.file >= 0 else { return nil }
    if sharedTail.rests { return mark }
    guard let length = try? fileSystem.length(of: mark.file), length == mark.position
    else { return nil }
    sharedTail.rest()
    return mark
  }

  // MARK: Entries

  /// Returns the slots of all variants of a key hash.
  package func slots(of hash: KeyHash) -> [Slot] {
    state.withLock { state in
      follow(&state)
      return state.index.variants(of: hash).map { state.index[$0] }
    }
  }

  /// Returns the slots of the variants of a key hash that have files.
  package func settledSlots(of hash: KeyHash) -> [Slot] {
    slots(of: hash).filter { !$0.isUnsettled }
  }

  /// Calls `body` with each entry that only the journal has.
  ///
  /// - Complexity: O(entries).
  func forEachUnsettled(_ body: (Located) -> Void) {
    var cursor = SlotCursor()
    while let located = cursor.next(in: self) {
      for place in located where place.slot.isUnsettled { body(place) }
    }
  }

  /// Returns the place of an entry. This does not count as an access.
  func locate(_ hash: KeyHash, _ variant: UInt64) -> Located? {
    state.withLock { state in
      follow(&state)
      guard let slot = state.index.find(hash, variant), !state.isClosed else { return nil }
      return state.located(state.index[slot])
    }
  }

  /// Returns whether the index still has the same record of an entry.
  func isCurrent(_ located: Located) -> Bool {
    state.withLock { state in
      follow(&state)
      // Nobody else tells a program that only reads. A removal of all entries that is just being made
      // is seen before its record.
      if isReadOnly, reopenMovedEntries(&state) { return false }
      return state.entries === located.entries && state.number(of: located.slot) != nil
    }
  }

  /// Reads the record of an entry without the body: from the journal, or from the metadata file if
  /// the journal has none.
  func readRecord(_ located: Located) throws(ReadFailure) -> PutRecord {
    guard let segment = located.segment else { return try tree.record(of: located) }
    return try check(
      try bytes(of: located, in: segment, count: located.slot.headLength), located, segment)
  }

  /// Reads the record of an entry and the body that it carries.
  ///
  /// - Returns: the body, or `nil` if it is not the one that was stored.
  func readWhole(
    _ located: Located, in segment: Segment
  ) throws(ReadFailure) -> (record: PutRecord, body: [UInt8]?) {
    let slot = located.slot
    let all = try bytes(of: located, in: segment, count: Int(slot.recordLength))
    let record = try check(Array(all[..<slot.headLength]), located, segment)
    let body = Array(all[slot.headLength..<(slot.headLength + Int(slot.length))])
    return (record, slot.digest.names(body, hashSeed: hashSeed) ? body : nil)
  }

  /// Reads the record of an entry, and its body if the metadata file has it: from the journal, or
  /// from the metadata file if the journal has none.
  ///
  /// - Throws: `damaged` also if the body is not the one that was stored.
  func readWithEmbedded(
    _ located: Located
  ) throws(ReadFailure) -> (record: PutRecord, body: [UInt8]?) {
    guard located.slot.isEmbedded else { return (try readRecord(located), nil) }
    guard let segment = located.segment else {
      return (try tree.record(of: located), try tree.readBody(located))
    }
    let (record, body) = try readWhole(located, in: segment)
    guard let body else { throw .damaged }
    return (record, body)
  }

  private func bytes(
    of located: Located, in segment: Segment, count: Int
  ) throws(ReadFailure) -> [UInt8] {
    guard
      let bytes = try? fileSystem.readBytes(
        segment.file, count: count, at: Int64(located.slot.offset)), bytes.count == count
    else { throw .unreadable }
    return bytes
  }

  /// Makes a record of the bytes of its head.
  private func check(
    _ bytes: [UInt8], _ located: Located, _ segment: Segment
  ) throws(ReadFailure) -> PutRecord {
    let seed = segment.seed(hashSeed, Int64(located.slot.offset))
    // Safety: the array outlives the call.
    let reading = unsafe bytes.withUnsafeBytes {
      unsafe RecordFrame.read($0, at: 0, seed: seed, isHeadEnough: true)
    }
    guard case .record = reading, let record = PutRecord(checked: bytes) else { throw .damaged }
    let head = record.head
    guard head.keyHash == located.slot.keyHash, head.variant == located.slot.variant
    else { throw .damaged }
    return record
  }

  /// Whether the index has every entry, and the whole journal could be read.
  var isIndexWhole: Bool { state.withLock { $0.isComplete && $0.journal.isWhole } }

  /// Whether every record that was written to the journal could be read.
  package var isJournalWhole: Bool { state.withLock { $0.journal.isWhole } }
}

/// The place of an entry, as the index had it.
struct Located {
  var slot: Slot
  /// The segment with its record; `nil` if only the tree has the entry.
  var segment: Segment?
  var entries: EntriesDirectory

  /// Returns the facts of a record about the entry, with the access time of the index.
  func info(_ record: PutRecord) -> EntryInfo {
    EntryInfo(record: record, accessed: Timestamp(nanoseconds: slot.accessed))
  }
}

/// The reason for which a file or record could not be read as it was stored.
enum ReadFailure: Error {
  /// It is missing: it was removed or replaced meanwhile, or is lost.
  case gone
  /// Its bytes are not those that were stored.
  case damaged
  /// The system cannot read it now (EIO, EACCES, too many open files). It may be intact.
  case unreadable
  /// It belongs to another key with the same hash.
  case collision
}
