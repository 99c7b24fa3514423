internal import CacheFormat
package import CacheSystem

// The metadata files of entries, compared with their records.
extension Store {
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
    let located = state.withLock { $0.located(slot) }
    // Where there is no record, the file is what the index was made of.
    guard located.segment != nil else { return .same }
    let document: MetadataDocument
    do throws(ReadFailure) {
      document = try self.document(Layout.metadata(slot.variant), in: directory)
    } catch { return error == .unreadable ? .same : .outdated }
    guard let record = try? readRecord(located) else {
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
    let slots = slots(of: hash)
    let end = state.withLock { $0.journal.openedSequence }
    for case .metadata(let variant) in found {
      guard let document = try? document(Layout.metadata(variant), in: directory),
        let sequence = document.sequence
      else { continue }
      if let slot = slots.first(where: { $0.variant == variant }) {
        if metadataState(of: slot, in: directory) == .newer { return sequence }
      } else if sequence > end &+ 1, self.hash(document.entry.key) == hash {
        // One more than the end is what a process writes that is killed before its record.
        return sequence
      }
    }
    return nil
  }

  /// From now on the journal counts as damaged: an older copy of it was put in its place, say. The tree
  /// decides, and the journal is written anew.
  func noteLostRecords(through sequence: UInt64) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      follow(&state)
      if !state.journal.isWhole { return }
      let entries = state.entries
      try noteRemovals(&state)
      state.entries = entries
      state.journal.isWhole = false
      state.isComplete = false
      state.journal.damages += 1
      // The next record leaves a gap, for all who read it before the journal is written anew.
      state.journal.sequence = max(state.journal.sequence, sequence)
    }
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
    let located = state.withLock { state in
      Located(slot: slot, segment: state.journal.segment(slot.segment), entries: entries)
    }
    let record: PutRecord
    do throws(ReadFailure) { record = try readRecord(located) } catch {
      throw .unreadable("\(path)/journal/\(Layout.segment(slot.segment).text)")
    }
    let session = try ownSession()
    let draft = Draft(head: record.head, key: record.key, metadata: record.metadata)
    let document = try draft.document(hashSeed: hashSeed, sequence: record.sequence)
    let (new, name) = (session.unusedName(), Layout.metadata(slot.variant))
    try system("\(path)/entries/\(Layout.metadataPath(slot.keyHash, slot.variant).text)") {
      () throws(SystemError) in
      try fileSystem.writeNew(new, in: session.directory, document, synced: durability == .full)
      do throws(SystemError) {
        try fileSystem.rename(new, in: session.directory.raw, to: name, in: directory.raw)
      } catch {
        try? fileSystem.removeFile(new, in: session.directory.raw)
        throw error
      }
    }
  }
}
