internal import CacheFormat
internal import CacheSystem
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
      throw error.isPermission || error.isOutOfDescriptors ? .unreadable : .damaged
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

  /// While the index is not complete: looks for an entry in the tree and takes it up.
  ///
  /// - Returns: whether the index has it now.
  func adopt(_ hash: KeyHash, _ variant: UInt64, _ key: ByteString) -> Bool {
    let (isThere, entries) = state.withLock { state -> (Bool, EntriesDirectory?) in
      if state.isClosed { return (false, nil) }
      // Another thread may have taken it up, or all entries, since the caller looked.
      let isThere = state.index.find(hash, variant) != nil
      return (isThere, isThere || state.isComplete ? nil : state.entries)
    }
    guard let entries else { return isThere }
    if isReadOnly { return takeUp(hash, variant, entries) }
    guard let shard = try? lockShard(hash, entries) else { return false }
    defer { shard.unlock() }
    return takeUp(hash, variant, shard.entries)
  }

  /// Takes up one entry of the tree; where the store is written to, the caller holds the shard.
  ///
  /// - Parameter old: the entry of the index that it may take the place of.
  /// - Returns: whether the index has it now.
  @discardableResult
  func takeUp(
    _ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory, replacing old: Slot? = nil
  ) -> Bool {
    guard
      let document = try? document(
        Layout.metadataPath(hash, variant), in: entries.directory),
      document.entry.variant == variant, self.hash(document.entry.key) == hash,
      old != nil || !wasRemoved(document.entry, hash),
      let file = try? fileSystem.open(
        Layout.bodyPath(hash, document.entry.digest), in: entries.directory, [.read]),
      let status = try? fileSystem.status(of: file.raw), status.kind == .file,
      status.length == document.entry.length
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
    let placed = try? append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === entries else { return [] }
      if let number = state.index.find(hash, variant) {
        isThere = true
        guard let old, state.index[number].isSameRecord(as: old) else { return [] }
      }
      return [record.bytes]
    }
    return placed != nil || isThere
  }

  /// Whether the journal, as far as it can be read, says that an entry in the tree was removed.
  private func wasRemoved(_ entry: StoredEntry, _ hash: KeyHash) -> Bool {
    state.withLock {
      $0.removals?.cover(hash, entry.variant, created: entry.created) ?? false
    }
  }

  /// Takes up what the tree has in place of an older version in the index: the record of the newer
  /// one was damaged. A replaced metadata file gets its name only after its record was written, so
  /// what is complete in the tree was committed. The caller holds the shard.
  ///
  /// - Returns: whether it was taken up.
  func takeUpNewer(
    _ slot: Slot, in directory: borrowing Descriptor, _ entries: EntriesDirectory
  ) -> Bool {
    guard let document = try? document(Layout.metadata(slot.variant), in: directory)
    else { return false }
    let entry = document.entry
    let located = state.withLock { state in
      Located(slot: slot, segment: state.segment(slot.segment), entries: entries)
    }
    if let record = try? readRecord(located) {
      let isSame =
        entry.digest == slot.digest && entry.created == record.head.created
        && entry.isPinned == record.head.isPinned && entry.metadata == record.metadata
      // Changed metadata has the time of storing that it had. After a power cut what is missing in
      // the journal was not promised, and the file may be the older one.
      let mayBeOlder =
        entry.created == record.head.created && state.withLock { $0.endedUncleanly }
      let isOlder = (entry.created < record.head.created || mayBeOlder) && hasBody(located)
      if isSame || isOlder { return false }
    }
    return takeUp(slot.keyHash, slot.variant, entries, replacing: slot)
      && state.withLock { state in
        state.index.find(slot.keyHash, slot.variant)
          .map { !state.index[$0].isSameRecord(as: slot) } ?? false
      }
  }
}
