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
    let (entries, isKnown) = state.withLock { state -> (EntriesDirectory?, Bool) in
      // The upkeep may have taken it up since the caller looked.
      if !state.isClosed, state.index.find(hash, variant) != nil { return (nil, true) }
      return (state.isComplete || state.isClosed ? nil : state.entries, false)
    }
    guard let entries else { return isKnown }
    if isReadOnly { return takeUp(hash, variant, entries) }
    guard let shard = try? lockShard(hash, entries) else { return false }
    defer { shard.unlock() }
    return takeUp(hash, variant, shard.entries)
  }

  /// Takes up one entry of the tree; where the store is written to, the caller holds the shard.
  ///
  /// - Returns: whether the index has it now.
  @discardableResult
  func takeUp(_ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory) -> Bool {
    guard
      let document = try? document(
        Layout.metadataPath(hash, variant), in: entries.directory),
      document.entry.variant == variant, self.hash(document.entry.key) == hash,
      let file = try? fileSystem.open(
        Layout.bodyPath(hash, document.entry.digest), in: entries.directory, [.read]),
      let status = try? fileSystem.status(of: file.raw), status.kind == .file,
      status.length == document.entry.length
    else { return false }
    let record = record(of: document, hash, bodyFile: status.fileNumber)
    if isReadOnly {
      return state.withLock { state in
        // In memory only; segment 0 says that the record is in the tree.
        state.put(record.head, segment: 0, offset: 0, recordLength: 0)
        return true
      }
    }
    var isKnown = false
    let placed = try? append { state throws(StoreError) -> [[UInt8]] in
      isKnown = state.index.find(hash, variant) != nil
      return state.entries === entries && !isKnown ? [record.bytes] : []
    }
    return isKnown || placed != nil
  }
}
