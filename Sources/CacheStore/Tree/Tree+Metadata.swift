package import CacheFormat
internal import CacheSystem

// Metadata files: the record of an entry as JSON, in the directory of its body.
extension Tree {
  /// Reads the record of an entry from its metadata file.
  func record(of located: Located) throws(ReadFailure) -> PutRecord {
    let slot = located.slot
    return record(of: try document(of: located), slot.keyHash, bodyFile: UInt64(slot.bodyFile))
  }

  /// Reads the metadata file of an entry.
  func document(of located: Located) throws(ReadFailure) -> MetadataDocument {
    let slot = located.slot
    let document = try document(
      Layout.metadataPath(slot.keyHash, slot.variant), in: located.entries.directory)
    guard document.entry.variant == slot.variant, document.entry.digest == slot.digest,
      document.entry.length == slot.length
    else { throw .damaged }
    return document
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
      throw error.isForNow ? .unreadable : .damaged
    }
    do throws(FormatError) {
      return try MetadataDocument(decoding: bytes, hashSeed: hashSeed)
    } catch {
      throw error.isForeign ? .foreign : .damaged
    }
  }

  /// Returns why a metadata file is no document; `nil` if it is one.
  func failure(of name: PathName, in directory: borrowing Descriptor) -> ReadFailure? {
    do throws(ReadFailure) { _ = try document(name, in: directory) } catch { return error }
    return nil
  }

  /// Reads a metadata file from which an entry may be recovered; `nil` if it is missing, damaged,
  /// or of another key or variant.
  func wholeDocument(
    _ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory
  ) throws(StoreError) -> MetadataDocument? {
    let path = Layout.metadataPath(hash, variant)
    do throws(ReadFailure) {
      let document = try document(path, in: entries.directory)
      return isPlaced(document, hash, variant) ? document : nil
    } catch {
      guard error == .unreadable else { return nil }
      throw .unreadable("\(self.path)/entries/\(path.text)")
    }
  }

  /// Returns whether a metadata file belongs to this entry.
  func isPlaced(_ document: MetadataDocument, _ hash: KeyHash, _ variant: UInt64) -> Bool {
    document.entry.variant == variant
      && KeyHash(hashing: document.entry.key, seed: hashSeed) == hash
  }

  /// Returns whether a metadata file was not written to its end, or lacks pages; false also if it
  /// cannot be read.
  func isTorn(_ hash: KeyHash, _ variant: UInt64, _ entries: EntriesDirectory) -> Bool {
    let bytes = try? fileSystem.readFile(
      Layout.metadataPath(hash, variant), in: entries.directory,
      limit: MetadataDocument.maximumBytes)
    return bytes.map { DocumentEnvelope.isTorn($0) } ?? false
  }

  /// Makes the record for a metadata file.
  func record(of document: MetadataDocument, _ hash: KeyHash, bodyFile: UInt64) -> PutRecord {
    let bytes = (try? document.encoded().count) ?? 0
    return PutRecord(
      document.entry, hash, bodyFile: bodyFile, overhead: overhead(bytes),
      isEmbedded: document.body != nil)
  }

  /// Encodes the metadata file of an entry.
  ///
  /// - Parameters:
  ///   - entry: the entry.
  ///   - sequence: the lowest sequence number that the record of the entry can have.
  ///   - body: the body; `nil` if it has a file of its own.
  /// - Throws: `metadataTooLarge`.
  func document(
    for entry: StoredEntry, sequence: UInt64, _ body: [UInt8]?
  ) throws(StoreError) -> [UInt8] {
    do throws(FormatError) {
      return try MetadataDocument(
        hashSeed: hashSeed, entry: entry, sequence: sequence, body: body
      ).encoded()
    } catch {
      throw StoreError(
        .metadataTooLarge, path: entry.key.description, cause: error.detail,
        remedy: "store less in fields, user info and tags")
    }
  }

  /// Returns the bytes that the metadata file and the directory of an entry will count for the
  /// limits. The file is not encoded if it certainly fits into one block.
  ///
  /// - Parameters:
  ///   - entry: the entry.
  ///   - body: the body; `nil` if it has a file of its own.
  /// - Throws: `metadataTooLarge`.
  func plannedOverhead(_ entry: StoredEntry, _ body: [UInt8]?) throws(StoreError) -> UInt32 {
    // A byte of a body mostly takes two at most: those are rare that take six.
    let long = body?.reduce(0) { $0 + ($1 < 0x20 || $1 == 0x7F ? 1 : 0) } ?? 0
    let bodyBytes = body.map { 2 * $0.count + 4 * long + 32 } ?? 0
    if entry.documentBound + bodyBytes <= Int(place.blockBytes) { return overhead(1) }
    return overhead(try document(for: entry, sequence: .max, body).count)
  }

  /// Returns the bytes that a metadata file and the directory of its key count for the limits.
  package func overhead(_ documentBytes: Int) -> UInt32 {
    let block = place.blockBytes
    return UInt32((UInt64(documentBytes) + block - 1) / block * block + block)
  }

  /// Writes the metadata file of a record, and replaces the present one. The caller holds the
  /// shard.
  ///
  /// - Parameters:
  ///   - record: the record.
  ///   - body: the body of an embedded entry; `nil` for any other.
  ///   - directory: the directory of the key.
  ///   - session: the session for the file until it gets its name.
  func writeMetadata(
    of record: PutRecord, _ body: [UInt8]?, in directory: borrowing Descriptor,
    staging session: Session
  ) throws(StoreError) {
    let head = record.head
    let document = try document(for: StoredEntry(record), sequence: record.sequence, body)
    let (new, name) = (session.unusedName(), Layout.metadata(head.variant))
    try system("\(path)/entries/\(Layout.metadataPath(head.keyHash, head.variant).text)") {
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

/// The record and the metadata file of an entry, made from the same values.
struct Draft {
  let record: PutRecord
  /// The bytes of the record, with the body if it is embedded.
  let recordBytes: [UInt8]
  /// The bytes of the metadata file.
  let document: [UInt8]

  /// Makes the record and the metadata file.
  ///
  /// - Parameters:
  ///   - entry: the entry.
  ///   - hash: the hash of its key.
  ///   - bodyFile: the number of its body file.
  ///   - body: the body of an embedded entry; `nil` for any other.
  ///   - sequence: the lowest sequence number that the record can have.
  ///   - tree: the tree with the file.
  /// - Throws: `metadataTooLarge`.
  init(
    _ entry: StoredEntry, _ hash: KeyHash, bodyFile: UInt64, embedding body: [UInt8]? = nil,
    sequence: UInt64, for tree: Tree
  ) throws(StoreError) {
    document = try tree.document(for: entry, sequence: sequence, body)
    record = PutRecord(
      entry, hash, bodyFile: bodyFile, overhead: tree.overhead(document.count),
      isEmbedded: body != nil)
    recordBytes = record.settled(with: body)
  }
}

extension PutRecord {
  /// Makes the record of an entry.
  init(
    _ entry: StoredEntry, _ hash: KeyHash, bodyFile: UInt64, overhead: UInt32,
    isEmbedded: Bool = false
  ) {
    var head = PutHead(
      keyHash: hash, digest: entry.digest, variant: entry.variant, length: entry.length,
      created: entry.created, accessed: entry.accessed, expires: entry.expires,
      bodyFile: bodyFile, overhead: overhead, status: entry.status, isPinned: entry.isPinned,
      isSpare: entry.metadata.isSpare)
    head.isEmbedded = isEmbedded
    self.init(head: head, key: entry.key, metadata: entry.metadata)
  }

  /// Returns the bytes of the record of a settled entry, ready to be placed.
  ///
  /// - Parameters:
  ///   - body: the body of an embedded entry; `nil` for any other.
  ///   - nanoseconds: the access time, since 1970; `nil` for the one in the record.
  ///   - overhead: the bytes of metadata file and directory; `nil` for those in the record.
  func settled(
    with body: [UInt8]?, accessed nanoseconds: Int64? = nil, overhead: UInt32? = nil
  ) -> [UInt8] {
    guard let body else { return bytes }
    let head = head
    return carrying(
      body,
      at: Moment(
        created: head.created,
        accessed: nanoseconds.map { Timestamp(nanoseconds: $0) } ?? head.accessed,
        isPinned: head.isPinned),
      settledWith: overhead ?? head.overhead)
  }

  /// Returns whether a metadata file has the same content as the record. The access time may
  /// differ.
  package func isSame(as entry: StoredEntry) -> Bool {
    let head = head
    return head.digest == entry.digest && head.length == entry.length
      && head.variant == entry.variant && head.created == entry.created
      && head.isPinned == entry.isPinned && hasKey(entry.key) && metadata == entry.metadata
  }
}

extension StoredEntry {
  /// Makes the description of an entry from its record.
  init(_ record: PutRecord) {
    let head = record.head
    self.init(
      key: record.key, variant: head.variant, digest: head.digest, length: head.length,
      created: head.created, accessed: head.accessed, isPinned: head.isPinned,
      metadata: record.metadata)
  }
}
