internal import CacheFormat
package import CacheSystem

// Compares the metadata files of entries with their records.
extension Recovery {
  /// The state of a metadata file, compared with the record of its entry.
  enum MetadataState {
    /// It has the same content. Or it is foreign, or the system cannot read it now; or the record cannot be
    /// read, and it names the body in the index.
    case same
    /// It is missing, damaged, or older than the record; or it has the number of a lost record.
    case outdated
    /// It is newer than the record: the record of a later change is lost.
    case newer
  }

  func metadataState(
    of slot: Slot, in directory: borrowing Descriptor
  ) -> MetadataState {
    let located = catalog.state.withLock { $0.located(slot) }
    // Without a record, the index was made from the file.
    guard located.segment != nil else { return .same }
    let document: MetadataDocument
    do throws(ReadFailure) {
      document = try tree.document(Layout.metadata(slot.variant), in: directory)
    } catch { return error == .unreadable || error == .foreign ? .same : .outdated }
    guard let record = try? catalog.readRecord(located) else {
      return document.entry.digest == slot.digest ? .same : .outdated
    }
    if record.isSame(as: document.entry), (document.body != nil) == slot.isEmbedded {
      // With the number of a lost record, the file would look newer than a later removal.
      let isLost = catalog.state.withLock { state in
        document.sequence.map { state.journal.isLost($0) } ?? false
      }
      return isLost ? .outdated : .same
    }
    guard let sequence = document.sequence, sequence > record.sequence,
      record.hasKey(document.entry.key)
    else { return .outdated }
    return .newer
  }

  /// Returns the sequence number of a record that the journal has lost, if the metadata files of a
  /// key prove it: a file is newer than its record in the journal, or has no record and a number
  /// that no record had when the store was opened. The caller holds the shard.
  ///
  /// - Throws: `closed` if the store is closed before that is known.
  func lostSequence(
    _ found: Set<Layout.KeyFile>, of hash: KeyHash, in directory: borrowing Descriptor
  ) throws(StoreError) -> UInt64? {
    let slots = catalog.slots(of: hash)
    for case .metadata(let variant) in found {
      guard let document = try? tree.document(Layout.metadata(variant), in: directory),
        let sequence = document.sequence
      else { continue }
      let slot = slots.first { $0.variant == variant }
      if let slot, !slot.isUnsettled {
        if metadataState(of: slot, in: directory) == .newer { return sequence }
      } else if tree.isPlaced(document, hash, variant),
        !isOfLog(document, slot), try isLost(sequence, hash, variant)
      {
        return sequence
      }
    }
    return nil
  }

  /// Returns whether a metadata file is of an entry in the log, or of an older version: it was being
  /// settled, or replaced.
  private func isOfLog(_ document: MetadataDocument, _ slot: Slot?) -> Bool {
    guard let slot, let sequence = document.sequence else { return false }
    let located = catalog.state.withLock { $0.located(slot) }
    return (try? catalog.readRecord(located)).map { sequence <= $0.sequence } ?? false
  }

  /// Returns whether the journal has lost a record, if a metadata file without a record has this
  /// number.
  ///
  /// A process that is killed between the record of a removal and the removal of the file leaves a file
  /// with a number before the end of the journal, and so does one that cannot remove it. If the number came
  /// into use since the store was opened, the journal has the record of the removal, until compaction drops
  /// it; or the session of the killed process is still there: it is removed after the file.
  private func isLost(
    _ sequence: UInt64, _ hash: KeyHash, _ variant: UInt64
  ) throws(StoreError) -> Bool {
    let (opened, isLost) = reader.withCurrentState {
      ($0.journal.openedSequence, $0.journal.isLost(sequence))
    }
    let known = tree.staging.hadDeadAtOpening ? opened &+ 1 : opened
    // This process may have left the file itself.
    if isLost || sequence <= known || tree.staging.uncleanCount > 0 { return isLost }
    if try wasRemoved(hash, variant, since: sequence) { return false }
    let wasKilled = try upkeep.awaitMoment { () throws(StoreError) in
      try journal.withLock { () throws(StoreError) in
        try tree.staging.hasNewDeadSession()
      }
    }
    if !wasKilled && upkeep.isStopping { throw .closed(path) }
    return !wasKilled
  }

  /// Returns whether an entry was removed by a record with a number, or a later one. The number has come
  /// into use since the store was opened.
  ///
  /// - Complexity: O(records since the store was opened).
  private func wasRemoved(
    _ hash: KeyHash, _ variant: UInt64, since sequence: UInt64
  ) throws(StoreError) -> Bool {
    let segments = reader.withCurrentState { state in
      let first = UInt32(state.journal.openedPlace >> 32)
      return state.journal.segments.compactMap { $0?.segment }.filter { $0.number >= first }
    }
    var isRemoved = false
    for segment in segments {
      var records = SegmentReader(
        segment.number, hashSeed: tree.hashSeed, from: Int64(SegmentHeader.count))
      try system(journal.path(of: segment.number)) { () throws(SystemError) in
        let length = try fileSystem.length(of: segment.file.raw)
        try records.read(segment.file, upTo: length, fileSystem) { item in
          guard case .record(let header, let bytes, _) = item, header.sequence >= sequence
          else { return true }
          if header.type == .clear { isRemoved = true }
          if header.type == .remove,
            let record = unsafe RemoveRecord(payload: Array(header.payload(of: bytes)))
          {
            isRemoved = isRemoved || record.keyHash == hash && record.variant == variant
          }
          return !isRemoved
        }
      }
    }
    return isRemoved
  }

  /// Writes a metadata file again from the journal, if it is missing or differs.
  func restoreMetadata(
    _ slot: Slot, in directory: borrowing Descriptor, _ entries: EntriesDirectory
  ) {
    if metadataState(of: slot, in: directory) == .same { return }
    do throws(StoreError) { try writeMetadata(of: slot, in: directory, entries) } catch {
      // A record that cannot be read is found by the next look-up.
      if error.errno != 0 { tree.staging.noteUnclean() }
    }
  }

  /// Writes the metadata file of an entry from the journal, and replaces the present one. The
  /// caller holds the shard.
  ///
  /// - Parameter known: a body with the digest of the entry, which becomes a part of the file if that in the
  ///   record is damaged.
  /// - Throws: an error also if the record cannot be read.
  package func writeMetadata(
    of slot: Slot, in directory: borrowing Descriptor, _ entries: EntriesDirectory,
    body known: [UInt8]? = nil
  ) throws(StoreError) {
    let located = catalog.state.withLock { $0.located(slot, in: entries) }
    let record: PutRecord
    let body: [UInt8]?
    do throws(ReadFailure) {
      do throws(ReadFailure) { (record, body) = try catalog.readWithEmbedded(located) } catch {
        guard let known else { throw error }
        (record, body) = (try catalog.readRecord(located), known)
      }
    } catch {
      throw .unreadable(journal.path(of: slot.segment))
    }
    let session = try writer.ownSession()
    try tree.writeMetadata(of: record, body, in: directory, staging: session)
  }
}
