internal import CacheFormat
package import CacheSystem

// The metadata files of entries, compared with their records.
extension Recovery {
  /// What the metadata file of an entry is, held against its record.
  enum MetadataState {
    /// It says the same, or nobody can tell: the record cannot be read.
    case same
    /// It is missing, damaged, or says what was so before: the record is right.
    case outdated
    /// It was written after the record: the record of a later change is lost.
    case newer
  }

  func metadataState(
    of slot: Slot, in directory: borrowing Descriptor
  ) -> MetadataState {
    let located = catalog.state.withLock { $0.located(slot) }
    // Where there is no record, the file is what the index was made of.
    guard located.segment != nil else { return .same }
    let document: MetadataDocument
    do throws(ReadFailure) {
      document = try tree.document(Layout.metadata(slot.variant), in: directory)
    } catch { return error == .unreadable ? .same : .outdated }
    guard let record = try? catalog.readRecord(located) else {
      return document.entry.digest == slot.digest ? .same : .outdated
    }
    if record.isSame(as: document.entry) { return .same }
    guard let sequence = document.sequence, sequence > record.sequence,
      record.hasKey(document.entry.key)
    else { return .outdated }
    return .newer
  }

  /// The number of a record that the journal has lost, as the metadata files of a key prove it: one
  /// that was written after the record that the journal has, or, without a record, after its end.
  func lostSequence(
    _ found: Set<Layout.KeyFile>, of hash: KeyHash, in directory: borrowing Descriptor
  ) -> UInt64? {
    let slots = catalog.slots(of: hash)
    let end = catalog.state.withLock { $0.journal.openedSequence }
    for case .metadata(let variant) in found {
      guard let document = try? tree.document(Layout.metadata(variant), in: directory),
        let sequence = document.sequence
      else { continue }
      if let slot = slots.first(where: { $0.variant == variant }) {
        if metadataState(of: slot, in: directory) == .newer { return sequence }
      } else if sequence > end &+ 1, catalog.hash(document.entry.key) == hash {
        // One more than the end is what a process writes that is killed before its record.
        return sequence
      }
    }
    return nil
  }

  /// Writes a metadata file again from the journal, where it is missing or says something else.
  func restoreMetadata(
    _ slot: Slot, in directory: borrowing Descriptor, _ entries: EntriesDirectory
  ) {
    if metadataState(of: slot, in: directory) == .same { return }
    // Where that fails, the journal still has it; the checker will say that the file is missing.
    try? writeMetadata(of: slot, in: directory, entries)
  }

  /// Writes the metadata file of an entry from the journal, in place of what stands there. The caller
  /// holds the shard.
  ///
  /// - Throws: also where the record cannot be read.
  package func writeMetadata(
    of slot: Slot, in directory: borrowing Descriptor, _ entries: EntriesDirectory
  ) throws(StoreError) {
    let located = catalog.state.withLock { state in
      Located(slot: slot, segment: state.journal.segment(slot.segment), entries: entries)
    }
    let record: PutRecord
    do throws(ReadFailure) { record = try catalog.readRecord(located) } catch {
      throw .unreadable("\(path)/journal/\(Layout.segment(slot.segment).text)")
    }
    try tree.writeMetadata(of: record, in: directory, staging: try catalog.ownSession())
  }
}
