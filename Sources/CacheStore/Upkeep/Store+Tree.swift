package import CacheFormat
package import CacheSystem
internal import Synchronization

// The tree is the truth: what the journal does not say is read from the metadata files.
extension Store {
  /// Reads the record of an entry from its metadata file.
  func recordFromTree(_ located: Located) throws(ReadFailure) -> PutRecord {
    let slot = located.slot
    let document = try document(
      Layout.metadataPath(slot.keyHash, slot.variant), in: located.entries.directory)
    guard document.entry.variant == slot.variant, document.entry.digest == slot.digest,
      document.entry.length == slot.length
    else { throw .damaged }
    return record(of: document, slot.keyHash, bodyFile: UInt64(slot.bodyFile))
  }

  /// Reads a metadata file of this store.
  func document(
    _ path: PathName, in directory: borrowing Descriptor
  ) throws(ReadFailure) -> MetadataDocument {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try fileSystem.readFile(
        path, in: directory, limit: MetadataDocument.maximumBytes)
    } catch {
      if error == .notFound { throw .gone }
      let isForNow = error.isPermission || error.isOutOfDescriptors || error == .inputOutput
      throw isForNow ? .unreadable : .damaged
    }
    guard let document = try? MetadataDocument(decoding: bytes, hashSeed: hashSeed)
    else { throw .damaged }
    return document
  }

  /// The record that a metadata file stands for.
  func record(of document: MetadataDocument, _ hash: KeyHash, bodyFile: UInt64) -> PutRecord {
    let entry = document.entry
    let bytes = (try? document.encoded().count) ?? 0
    return PutRecord(
      head: PutHead(
        keyHash: hash, digest: entry.digest, variant: entry.variant, length: entry.length,
        created: entry.created, accessed: entry.accessed, expires: entry.expires,
        bodyFile: bodyFile, overhead: overhead(bytes), status: entry.status,
        isPinned: entry.isPinned),
      key: entry.key, metadata: entry.metadata)
  }

  /// While the index is not complete: takes up what the tree has of a key and the index has not, or has
  /// in an older version. The record of the newer one may be lost.
  ///
  /// - Parameter variant: the one to ask for; nil: all.
  /// - Throws: where the system cannot say, or the journal cannot be written.
  func askTree(_ hash: KeyHash, _ variant: UInt64? = nil) throws(StoreError) {
    guard let entries = state.withLock({ $0.isComplete || $0.isClosed ? nil : $0.entries })
    else { return }
    if isReadOnly { return try askTree(hash, variant, entries) }
    let shard = try lockShard(hash, entries)
    defer { shard.unlock() }
    try askTree(hash, variant, entries)
  }

  private func askTree(
    _ hash: KeyHash, _ variant: UInt64?, _ entries: EntriesDirectory
  ) throws(StoreError) {
    if let directory = try openKey(hash, at: Layout.keyPath(hash), in: entries.directory) {
      let all = try files(in: directory)
      let found = variant.map { all.intersection([.metadata($0)]) } ?? all
      try takeUp(found, of: hash, in: directory, entries)
    }
    state.withLock { state in
      if state.isComplete { return }
      for number in state.index.variants(of: hash) {
        let slot = state.index[number]
        if variant == nil || slot.variant == variant { state.confirmed.insert(slot.recordPlace) }
      }
    }
  }

  /// Opens the directory of a key by its path from another one; nil where there is none.
  func openKey(
    _ hash: KeyHash, at path: PathName, in directory: borrowing Descriptor
  ) throws(StoreError) -> Descriptor? {
    do throws(SystemError) {
      return try fileSystem.open(path, in: directory, [.read, .directory])
    } catch {
      if error == .notFound || error.isWrongKind { return nil }
      throw StoreError(error, path: "\(self.path)/entries/\(Layout.keyPath(hash).text)")
    }
  }

  /// Takes up the entries of a key that the tree has and the journal does not, or has in an older
  /// version; where the store is written to, the caller holds the shard.
  ///
  /// - Throws: where the system cannot say, or the journal cannot be written.
  func takeUp(
    _ found: Set<Layout.KeyFile>, of hash: KeyHash, in directory: borrowing Descriptor,
    _ entries: EntriesDirectory
  ) throws(StoreError) {
    let slots = slots(of: hash)
    for case .metadata(let variant) in found {
      if let slot = slots.first(where: { $0.variant == variant }) {
        _ = try takeUpNewer(slot, in: directory, entries)
      } else {
        try takeUp(hash, variant, entries)
      }
    }
  }

  /// Takes up one entry of the tree; where the store is written to, the caller holds the shard.
  ///
  /// - Parameter old: the entry of the index that it may take the place of.
  /// - Returns: whether the index has it now; false where it is not whole.
  /// - Throws: where the system cannot say, or the journal cannot be written.
  @discardableResult
  package func takeUp(
    _ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory, replacing old: Slot? = nil
  ) throws(StoreError) -> Bool {
    guard let document = try wholeDocument(hash, variant, entries),
      old != nil || !wasRemoved(document.entry, hash),
      let status = try wholeBody(hash, document.entry, entries)
    else { return false }
    let isSameBody = old?.digest == document.entry.digest
    let record = record(
      of: document, hash,
      bodyFile: old.flatMap { isSameBody ? UInt64($0.bodyFile) : nil } ?? status.fileNumber)
    if isReadOnly {
      return state.withLock { state in
        // In memory only; segment 0 says that the record is in the tree.
        state.put(record.head, segment: 0, offset: 0, recordLength: 0)
        return true
      }
    }
    var isThere = false
    let placed = try append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === entries else { return [] }
      if let number = state.index.find(hash, variant) {
        isThere = true
        guard let old, state.index[number].isSameRecord(as: old) else { return [] }
      }
      // The journal is not whole: its numbers go on after those that the tree tells of.
      state.journal.sequence = max(state.journal.sequence, document.sequence ?? 0)
      return [record.bytes]
    }
    return placed != nil || isThere
  }

  /// Whether the journal, as far as it can be read, says that an entry in the tree was removed. After
  /// a clean end nothing that was removed can be there again, whatever the times of storing say.
  private func wasRemoved(_ entry: StoredEntry, _ hash: KeyHash) -> Bool {
    state.withLock { state in
      (state.endedUncleanly || isReadOnly)
        && state.removals?.cover(hash, entry.variant, created: entry.created) ?? false
    }
  }

  /// Whether a metadata file is that of an entry that was removed and not stored again, or whose body
  /// did not reach the disk before the power failed or a process was killed.
  func isLeftover(
    _ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory
  ) throws(StoreError) -> Bool {
    if locate(hash, variant) != nil { return false }
    guard let document = try wholeDocument(hash, variant, entries) else { return false }
    if wasRemoved(document.entry, hash) { return true }
    if state.withLock({ !$0.endedUncleanly }) { return false }
    return try wholeBody(hash, document.entry, entries) == nil
  }

  /// Reads a metadata file that may be taken up; nil where it is not as it was written, or of another
  /// key.
  private func wholeDocument(
    _ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory
  ) throws(StoreError) -> MetadataDocument? {
    let path = Layout.metadataPath(hash, variant)
    do throws(ReadFailure) {
      let document = try document(path, in: entries.directory)
      guard document.entry.variant == variant, self.hash(document.entry.key) == hash
      else { return nil }
      return document
    } catch {
      guard error == .unreadable else { return nil }
      throw .unreadable("\(self.path)/entries/\(path.text)")
    }
  }

  /// The status of a body that has the right length; nil where there is none.
  private func wholeBody(
    _ hash: KeyHash, _ entry: StoredEntry, _ entries: EntriesDirectory
  ) throws(StoreError) -> FileStatus? {
    let path = Layout.bodyPath(hash, entry.digest)
    do throws(SystemError) {
      let file = try fileSystem.open(path, in: entries.directory, [.read])
      let status = try fileSystem.status(of: file.raw)
      return status.kind == .file && status.length == entry.length ? status : nil
    } catch {
      if error == .notFound || error.isWrongKind { return nil }
      throw StoreError(error, path: "\(self.path)/entries/\(path.text)")
    }
  }

  /// Takes up what the tree has in place of an older version in the index: the record of the newer
  /// one was damaged. A replaced metadata file gets its name only after its record was written, so
  /// what is complete in the tree was committed. The caller holds the shard.
  ///
  /// - Returns: whether it was taken up.
  /// - Throws: where the system cannot say, or the journal cannot be written.
  package func takeUpNewer(
    _ slot: Slot, in directory: borrowing Descriptor, _ entries: EntriesDirectory
  ) throws(StoreError) -> Bool {
    let document: MetadataDocument
    do throws(ReadFailure) {
      document = try self.document(Layout.metadata(slot.variant), in: directory)
    } catch {
      guard error == .unreadable else { return false }
      throw .unreadable("\(path)/entries/\(Layout.metadataPath(slot.keyHash, slot.variant).text)")
    }
    let located = state.withLock { state in
      Located(slot: slot, segment: state.journal.segment(slot.segment), entries: entries)
    }
    if try isSuperseded(document, by: located) { return false }
    return try takeUp(slot.keyHash, slot.variant, entries, replacing: slot)
      && state.withLock { state in
        state.index.find(slot.keyHash, slot.variant)
          .map { !state.index[$0].isSameRecord(as: slot) } ?? false
      }
  }

  /// Whether a metadata file says what the record of an entry says, or less.
  ///
  /// - Throws: where the record cannot be read for now, and may be the newer one.
  private func isSuperseded(
    _ document: MetadataDocument, by located: Located
  ) throws(StoreError) -> Bool {
    let entry = document.entry
    let record: PutRecord
    do throws(ReadFailure) { record = try readRecord(located) } catch {
      if error == .unreadable && entry.digest != located.slot.digest {
        throw .unreadable("\(path)/journal/\(Layout.segment(located.slot.segment).text)")
      }
      return false
    }
    if record.isSame(as: entry) { return true }
    // Numbers decide where there are any; a clock may be wrong.
    if let sequence = document.sequence, record.sequence > 0 {
      return sequence <= record.sequence && hasBody(located)
    }
    // Changed metadata has the time of storing that it had. After a power cut what is missing in the
    // journal was not promised, and the file may be the older one.
    let mayBeOlder =
      entry.created < record.head.created
      || entry.created == record.head.created && state.withLock { $0.endedUncleanly }
    return mayBeOlder && hasBody(located)
  }
}

extension PutRecord {
  /// Whether a metadata file says the same as the record; the access time may differ.
  func isSame(as entry: StoredEntry) -> Bool {
    let head = head
    return head.digest == entry.digest && head.length == entry.length
      && head.variant == entry.variant && head.created == entry.created
      && head.isPinned == entry.isPinned && hasKey(entry.key) && metadata == entry.metadata
  }
}

extension StoreError {
  static func unreadable(_ path: String) -> StoreError {
    StoreError(
      .inputOutput, path: path, cause: "the system cannot read it for now",
      remedy: "check the permissions and the disk, then try again")
  }
}
