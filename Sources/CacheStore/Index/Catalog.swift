package import CacheFormat
internal import CacheSystem

/// The entries of a store according to its journal.
///
/// `Catalog+Shards` keeps track of the directory `entries`, which `removeAll` replaces;
/// `Catalog+Checking` has the queries of a check.
package final class Catalog: ReaderUser {
  let reader: JournalReader
  package let writer: JournalWriter
  let journal: Journal
  package let tree: Tree
  let hashSeed: UInt64
  let fileSystem: any FileSystem
  let clock: any WallClock

  var isReadOnly: Bool { place.isReadOnly }
  var isSupervised: Bool { place.isSupervised }
  var state: Lock<StoreState> {
    @inline(__always)
    _read { yield reader.state }
  }

  init(_ tree: Tree, _ upkeep: Upkeep, _ options: Options) throws(StoreError) {
    self.tree = tree
    journal = tree.journal
    hashSeed = tree.hashSeed
    fileSystem = tree.fileSystem
    clock = tree.clock
    reader = try JournalReader(tree, upkeep, options)
    writer = JournalWriter(reader)
  }

  /// Returns the hash of a key in this store.
  @inline(__always)
  func hash(_ key: ByteString) -> KeyHash { KeyHash(hashing: key, seed: hashSeed) }

  /// Returns the slots of all variants of a key hash.
  package func slots(of hash: KeyHash) -> [Slot] {
    reader.withCurrentState { state in
      state.index.variants(of: hash).map { state.index[$0] }
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
    reader.withCurrentState { state in
      guard let slot = state.index.find(hash, variant), !state.isClosed else { return nil }
      return state.located(state.index[slot])
    }
  }

  /// Returns whether the index still has the same record of an entry.
  func isCurrent(_ located: Located) -> Bool {
    reader.withCurrentState { state in
      // Nobody else tells a program that only reads. A removal of all entries that is just being made
      // is seen before its record.
      if isReadOnly, reader.reopenMovedEntries(&state) { return false }
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
  var isIndexWhole: Bool { state.withLock { $0.isIndexWhole } }

  /// Whether every record that was written to the journal could be read.
  package var isJournalWhole: Bool { state.withLock { $0.journal.isWhole } }

  /// Begins to close the store; calls of other threads still succeed.
  ///
  /// - Returns: whether the store belongs to a newer program, so that nothing is written any more;
  ///   `nil` if the store is closed already, or another thread closes it.
  func beginClosing() -> Bool? {
    state.withLock { state in
      if state.isClosing || state.isClosed && state.refusal == nil { return nil }
      state.isClosing = true
      return state.refusal != nil
    }
  }

  /// Makes all further calls fail.
  func endClosing() { state.withLock { $0.isClosed = true } }
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
  /// It is of another store, or has a newer format. No repair touches it.
  case foreign
  /// The system cannot read it now (EIO, EACCES, too many open files). It may be intact.
  case unreadable
  /// It belongs to another key with the same hash.
  case collision
}
