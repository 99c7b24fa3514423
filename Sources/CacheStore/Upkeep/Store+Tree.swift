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
    if isReadOnly { return (try? takeUp(hash, variant, entries)) ?? false }
    guard let shard = try? lockShard(hash, entries) else { return false }
    defer { shard.unlock() }
    return (try? takeUp(hash, variant, shard.entries)) ?? false
  }

  /// While the index is not complete: asks the tree whether it has a later version of an entry, whose
  /// record may be lost, and takes that up.
  ///
  /// - Returns: whether the index has another one now.
  func isReplaced(_ located: Located) -> Bool {
    let slot = located.slot
    if isReadOnly { return isReplaced(slot, located.entries) }
    guard let shard = try? lockShard(slot.keyHash, located.entries) else { return false }
    defer { shard.unlock() }
    return isReplaced(slot, shard.entries)
  }

  private func isReplaced(_ slot: Slot, _ entries: EntriesDirectory) -> Bool {
    guard
      let directory = try? fileSystem.open(
        Layout.keyPath(slot.keyHash), in: entries.directory, [.read, .directory])
    else { return false }
    let isReplaced = (try? takeUpNewer(slot, in: directory, entries)) ?? false
    if !isReplaced {
      state.withLock { state in
        if !state.isComplete { state.confirmed.insert(slot.recordPlace) }
      }
    }
    return isReplaced
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

  /// Whether a metadata file is that of an entry that was removed, and not stored again.
  func isLeftover(
    _ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory
  ) throws(StoreError) -> Bool {
    if locate(hash, variant) != nil { return false }
    guard let document = try wholeDocument(hash, variant, entries) else { return false }
    return wasRemoved(document.entry, hash)
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
  package func takeUpNewer(
    _ slot: Slot, in directory: borrowing Descriptor, _ entries: EntriesDirectory
  ) throws(StoreError) -> Bool {
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
    return try takeUp(slot.keyHash, slot.variant, entries, replacing: slot)
      && state.withLock { state in
        state.index.find(slot.keyHash, slot.variant)
          .map { !state.index[$0].isSameRecord(as: slot) } ?? false
      }
  }
}

extension StoreError {
  static func unreadable(_ path: String) -> StoreError {
    StoreError(
      .inputOutput, path: path, cause: "the system cannot read it for now",
      remedy: "check the permissions and the disk, then try again")
  }
}
