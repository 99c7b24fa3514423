internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The version of an entry according to a metadata file or a record.
struct EntryVersion {
  var sequence: UInt64?
  var created: Timestamp

  /// Sequence numbers decide, if both have one, because a clock may be wrong.
  func isNewer(than other: EntryVersion) -> Bool {
    guard let mine = sequence, let theirs = other.sequence else { return created > other.created }
    return mine > theirs
  }
}

extension MetadataDocument {
  var version: EntryVersion {
    EntryVersion(sequence: sequence, created: entry.created)
  }
}

// What is in the place of an entry, and in a foreign directory. Nothing is written.
extension Store {
  /// What stands in the place of an entry.
  enum Standing {
    /// Nothing, or a damaged metadata file.
    case nothing
    /// The metadata file of the same entry, in any version.
    case entry(MetadataDocument)
    /// Something that is not overwritten: a metadata file of another key, store or newer format, or no file.
    case others
  }

  func standing(
    for entry: StoredEntry, _ hash: KeyHash, _ entries: EntriesDirectory
  ) throws(StoreError) -> Standing {
    let path = Layout.keyPath(hash)
    guard let directory = try catalog.tree.openKey(hash, at: path, in: entries.directory)
    else { return .nothing }
    let name = Layout.metadata(entry.variant)
    let found = try guarded(path.bytes) { () throws(SystemError) in
      try fileSystem.document(name, in: directory, hashSeed: hashSeed)
    }
    switch found {
    case .success(let document):
      let other = document.entry
      return other.key == entry.key && other.variant == entry.variant ? .entry(document) : .others
    case .failure(let error):
      return error.isForeign ? .others : .nothing
    case nil: return fileSystem.isMissing(name, in: directory.raw) ? .nothing : .others
    }
  }

  /// Returns whether the place of an entry has that entry whole, in the same version or a newer one.
  ///
  /// - Parameter journalDecides: whether the journal is whole, so that files without a record were never
  ///   promised.
  func hasEntry(
    _ document: MetadataDocument, _ hash: KeyHash, _ entries: EntriesDirectory,
    journalDecides: Bool
  ) throws(StoreError) -> Bool {
    // Files that the journal does not know are going to be removed.
    let slot = catalog.slot(hash, document.entry.variant)
    if journalDecides, slot == nil { return false }
    let path = Layout.keyPath(hash)
    guard case .entry(let other) = try standing(for: document.entry, hash, entries) else {
      return false
    }
    // An entry that was placed may have got a lower number.
    let isSame =
      slot.flatMap { catalog.record(of: $0) }
      .map { $0.isSame(as: document.entry) && $0.isSame(as: other.entry) } ?? false
    guard isSame || !document.version.isNewer(than: other.version),
      let directory = try catalog.tree.openKey(hash, at: path, in: entries.directory)
    else { return false }
    if other.body != nil { return true }
    return try isWhole(other.entry, in: directory, path.bytes)
  }

  /// Returns whether an entry elsewhere is a newer version than the one that the journal has.
  func isNewer(
    _ document: MetadataDocument, than slot: Slot, _ standing: Standing, journalDecides: Bool
  ) -> Bool {
    guard let record = catalog.record(of: slot) else { return false }
    var known = EntryVersion(sequence: record.sequence, created: record.head.created)
    // A record that was made from a metadata file has a later number than that.
    if case .entry(let other) = standing, record.isSame(as: other.entry) { known = other.version }
    // A journal that was written anew from a part of the entries has given numbers a second time.
    let created = document.entry.created
    return document.version.isNewer(than: known)
      && (created > known.created || created == known.created && !journalDecides)
  }

  /// Returns whether a directory has the whole body file of an entry.
  func isWhole(
    _ entry: StoredEntry, in directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) -> Bool {
    try guarded(path) { () throws(SystemError) in
      try hasBody(
        Layout.body(entry.digest), in: directory, entry.digest, length: entry.length)
    }
  }

  /// What is in a foreign directory.
  struct ForeignDirectory {
    /// The metadata files, by their variants, and the bodies that they name.
    var documents: [(variant: UInt64, digest: Digest)] = []
    /// The numbers of metadata files that name a body.
    var users: [Digest: Int] = [:]
    /// The body files. In the end, those of entries that are not in their places.
    var bodies: Set<Digest> = []
    /// Whether a file cannot be read, or has another name, so that it may be the metadata file of any body.
    var hasUnknown = false
    /// The first error, after which the directory stays.
    var failure: StoreError?

    /// Returns the files that go when an entry leaves the directory: its metadata file, and before it the body
    /// unless it may be that of another entry. After a kill, only a copy is left.
    mutating func files(_ file: PathName, _ digest: Digest) -> [PathName] {
      users[digest, default: 1] -= 1
      return hasUnknown || users[digest] != 0 ? [file] : [Layout.body(digest), file]
    }
  }

  /// Reads a foreign directory.
  func readForeign(
    _ directory: borrowing Descriptor, _ path: [UInt8], _ cancellation: Flag,
    sparingDirectories: Bool = false
  ) throws(StoreError) -> ForeignDirectory {
    var found = ForeignDirectory()
    var variants: [UInt64] = []
    _ = try guarded(path) { () throws(SystemError) in
      try fileSystem.names(in: directory.raw) { name, kind in
        switch Layout.keyFile(name) {
        case .metadata(let variant): variants.append(variant)
        case .body(let digest): found.bodies.insert(digest)
        case .foreign where sparingDirectories && kind == .directory: break
        case .foreign: found.hasUnknown = true
        }
        return false
      }
    }
    for variant in variants where !cancellation.isSet {
      do throws(StoreError) {
        if let digest = try readDocument(Layout.metadata(variant), directory, path)?.entry.digest {
          found.documents.append((variant, digest))
          found.users[digest, default: 0] += 1
          continue
        }
      } catch { found.failure = found.failure ?? error }
      found.hasUnknown = true
    }
    return found
  }

  /// Reads a metadata file; `nil` if it is missing, damaged, or of another store.
  func readDocument(
    _ name: PathName, _ directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) -> MetadataDocument? {
    try guarded(path) { () throws(SystemError) in
      try fileSystem.document(name, in: directory, hashSeed: hashSeed).flatMap {
        try? $0.get()
      }
    }
  }
}
