internal import CacheFormat
internal import CacheStore
internal import CacheSystem

// Repairs of whole entries in the directory of another key, or elsewhere.
extension Mender {
  /// The number of attempts to take the lock of another shard, which take about a tenth of a
  /// second.
  private static var lockAttempts: Int { 100 }

  /// Moves an entry from the directory of another key to its place. If that is taken, moves it to a
  /// directory of its own, from where the next pass places it: entries may have each other's places.
  func mendMisplaced(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let variant = suspicion.variant, let directory = try openKey(scene, shard),
      case .document(let facts)? = scene.metadata[variant]?.reading
    else { return false }
    let name = Layout.metadata(variant)
    let placement = try place(
      name, of: directory, held: Layout.shardNumber(of: scene.hash), shard.entries, scene.path)
    switch placement {
    case .placed: break
    case .waiting: try moveOut(name, facts, scene, directory, shard)
    case .refused:
      // If another entry has taken the place, this may be the only copy.
      let isCopy = try hasEntry(facts.key, facts.variant, facts.keyHash, shard.entries)
      let wasRemoved = try wasRemoved(facts)
      guard level == .all || isCopy || wasRemoved else { return false }
      return try takeOut(
        variant, wasRemoved: wasRemoved, scene, shard,
        "it is of another key, whose place has it, or was not whole.")
    }
    try removeFiles(of: variant, scene, directory, suspicion.path)
    return true
  }

  private func moveOut(
    _ metadata: PathName, _ facts: DocumentFacts, _ scene: KeyScene,
    _ source: borrowing Descriptor, _ shard: borrowing Shard
  ) throws(StoreError) {
    pass.hasUnplaced.set()
    var name = Layout.key(scene.hash)
    name.append("-")
    name.appendHex(.random(in: .min ... .max), digits: 8)
    let path = Array(scene.path.dropLast(Layout.key(scene.hash).count)) + name.bytes
    pass.detours.insert(path)
    let target = try make(name, shard, path)
    try link(metadata, of: source, to: metadata, in: target, path)
    if !facts.hasBody {
      let body = Layout.body(facts.digest)
      try link(body, of: source, to: body, in: target, path)
    }
    try synchronize(target, scene.hash, shard.entries, path)
  }

  /// Returns whether the place of an entry has that entry whole, perhaps in another version.
  private func hasEntry(
    _ key: ByteString, _ variant: UInt64, _ hash: KeyHash, _ entries: EntriesDirectory
  ) throws(StoreError) -> Bool {
    // Files that a whole journal does not know are going to be removed.
    if journalDecides, catalog.slot(hash, variant) == nil { return false }
    let path = Layout.keyPath(hash)
    guard let directory = try tree.openKey(hash, at: path, in: entries.directory),
      let document = try readDocument(Layout.metadata(variant), directory, path.bytes),
      document.entry.key == key, document.entry.variant == variant
    else { return false }
    if document.body != nil { return true }
    return try isWhole(document.entry, in: directory)
  }

  /// Returns whether the body file of an entry is whole.
  func isWhole(
    _ entry: StoredEntry, in directory: borrowing Descriptor
  ) throws(StoreError) -> Bool {
    try isWhole(Layout.body(entry.digest), in: directory, entry.digest, length: entry.length)
  }

  /// What is in a foreign directory.
  private struct ForeignDirectory {
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
  }

  /// Moves the entries of a foreign directory to their places, and the rest of the directory to the
  /// quarantine. A safe repair does the latter only if all of the rest are copies of entries that
  /// are in their places.
  ///
  /// - Parameter mayMove: whether the rest may be moved.
  /// - Returns: false if the directory stays.
  func placeEntries(
    of name: PathName, in parent: Int32, _ path: [UInt8], mayMove: Bool
  ) throws(StoreError) -> Bool {
    let directory = try guarded(path) { () throws(SystemError) in
      try fileSystem.open(name, in: parent, [.read, .directory])
    }
    var found = try readForeign(directory, path)
    // Whether there is anything that is neither placed nor a copy, so that it may be the only one.
    var (hasOthers, hasWaiting) = (found.hasUnknown, false)
    for (variant, digest) in found.documents {
      if cancellation.isSet { return false }
      do throws(StoreError) {
        let file = Layout.metadata(variant)
        let entries = catalog.entriesDirectory
        let placement = try place(file, of: directory, held: nil, entries, path)
        if placement == .placed {
          found.bodies.remove(digest)
          try removePlaced(file, digest, &found, directory, path)
        } else if try hasEntry(in: file, directory, path) {
          found.bodies.remove(digest)
        } else {
          hasOthers = true
        }
        if placement == .waiting { hasWaiting = true }
      } catch { found.failure = found.failure ?? error }
    }
    if let failure = found.failure { throw failure }
    if (try? fileSystem.removeDirectory(name, in: parent)) != nil { return true }
    if hasWaiting { pass.hasUnplaced.set() }
    guard level == .all || !hasOthers && found.bodies.isEmpty, mayMove, !hasWaiting
    else { return false }
    try moveAway(name, in: parent, path: path)
    return true
  }

  private func readForeign(
    _ directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) -> ForeignDirectory {
    var found = ForeignDirectory()
    var variants: [UInt64] = []
    _ = try guarded(path) { () throws(SystemError) in
      try fileSystem.names(in: directory.raw) { name, _ in
        switch Layout.keyFile(name) {
        case .metadata(let variant): variants.append(variant)
        case .body(let digest): found.bodies.insert(digest)
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

  /// Removes the metadata file of an entry that was placed from a foreign directory, and before it the body
  /// unless it may be that of another entry: after a kill, only a copy is left. This makes room for the next
  /// one, if entries are copied.
  private func removePlaced(
    _ file: PathName, _ digest: Digest, _ found: inout ForeignDirectory,
    _ directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) {
    found.users[digest, default: 1] -= 1
    let isUsed = found.hasUnknown || found.users[digest] != 0
    try remove(isUsed ? [file] : [Layout.body(digest), file], in: directory, path)
  }

  /// Returns whether the entry in a metadata file is whole in its place, perhaps in another version.
  private func hasEntry(
    in file: PathName, _ directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) -> Bool {
    guard let entry = try readDocument(file, directory, path)?.entry else { return false }
    let hash = KeyHash(hashing: entry.key, seed: store.hashSeed)
    return try hasEntry(entry.key, entry.variant, hash, catalog.entriesDirectory)
  }

  /// Reads a metadata file; `nil` if it is missing, damaged, or of another store.
  func readDocument(
    _ name: PathName, _ directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) -> MetadataDocument? {
    let bytes = try guarded(path) { () throws(SystemError) -> [UInt8]? in
      do throws(SystemError) {
        return try fileSystem.readFile(
          name, in: directory, limit: MetadataDocument.maximumBytes)
      } catch  where error == .notFound || error == .tooLarge || error.isWrongKind { return nil }
    }
    return bytes.flatMap { try? MetadataDocument(decoding: $0, hashSeed: store.hashSeed) }
  }

  private enum Placement {
    case placed
    /// The entry is not whole, was removed, or is in its place.
    case refused
    /// Its place is taken by what is repaired in its turn. A later pass tries again.
    case waiting
  }

  /// Verifies an entry, links it into the directory of its key, and appends its record.
  ///
  /// - Parameter held: the number of the shard whose lock the caller holds; `nil` if it holds none.
  private func place(
    _ name: PathName, of source: borrowing Descriptor, held: Int?, _ entries: EntriesDirectory,
    _ path: [UInt8]
  ) throws(StoreError) -> Placement {
    guard let document = try readDocument(name, source, path) else { return .refused }
    let entry = document.entry
    let hash = KeyHash(hashing: entry.key, seed: store.hashSeed)
    if document.body == nil, try !isWhole(entry, in: source) { return .refused }
    if held == nil {
      return try catalog.withShard(of: hash) { shard throws(StoreError) in
        try place(name, of: source, document, hash, shard.entries, path)
      }
    }
    return try whileLocked(hash, held, entries) { () throws(StoreError) in
      try place(name, of: source, document, hash, entries, path)
    }
  }

  /// Runs `body` while the shard of a key is locked.
  ///
  /// - Parameter held: the number of the shard whose lock the caller holds.
  func whileLocked<R>(
    _ hash: KeyHash, _ held: Int?, _ entries: EntriesDirectory, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    if Layout.shardNumber(of: hash) == held { return try body() }
    // A thread that holds one lock never waits for another. Otherwise two threads could wait for
    // each other.
    for _ in 0..<Self.lockAttempts {
      let result = try tree.tryWithShard(of: hash, in: entries) { _ throws(StoreError) in
        try body()
      }
      if let result { return result }
      pause(nanoseconds: 1_000_000)
    }
    throw StoreError(
      .inputOutput, path: "\(store.path)/entries/\(Layout.keyPath(hash).text)",
      cause: "its shard is in use", remedy: "check again")
  }

  /// Links an entry into the directory of its key, while the lock of its shard is held. If the entry
  /// is there, links only the body, in place of one that is missing or damaged.
  private func place(
    _ name: PathName, of source: borrowing Descriptor, _ document: MetadataDocument,
    _ hash: KeyHash, _ entries: EntriesDirectory, _ path: [UInt8]
  ) throws(StoreError) -> Placement {
    let entry = document.entry
    let metadata = Layout.metadata(entry.variant)
    let slot = catalog.slot(hash, entry.variant)
    // An entry that only the journal has is newer than any file.
    if slot?.isUnsettled == true { return .refused }
    if let slot, slot.digest != entry.digest || slot.length != entry.length { return .refused }
    // An entry that was removed is not brought back by a copy.
    if slot == nil,
      try catalog.goodbye(
        to: hash, entry.variant, entry.digest, sequence: document.sequence) == .removed
    {
      return .refused
    }
    let target = try makeKey(Layout.keyPath(hash), entries)
    let raw = target.raw
    let (there, mine) = try guarded(path) { () throws(SystemError) in
      var there: FileStatus?
      do throws(SystemError) {
        there = try fileSystem.status(at: metadata, in: raw)
      } catch  where error == .notFound {}
      return (there, try fileSystem.status(at: name, in: source.raw).fileNumber)
    }
    let other = try readDocument(metadata, target, path)
    if let other, other.entry.key != entry.key || other.entry.variant != entry.variant {
      return .waiting
    }
    if there != nil, there?.kind != .file { return .waiting }
    var isNew = false
    if slot?.hasBodyFile ?? (document.body == nil), try !isWhole(entry, in: target) {
      // What is there without a record is repaired in its turn. Only a metadata file of the same entry, which
      // lacks the body, gets that now.
      if slot == nil, there != nil, other?.body != nil || other?.entry.digest != entry.digest {
        return .waiting
      }
      if let slot, document.body != nil {
        _ = try writeBody(of: document, slot, in: target, path)
      } else {
        let body = Layout.body(entry.digest)
        try link(body, of: source, to: body, in: target, path)
      }
      isNew = true
    } else if slot == nil, there != nil, there?.fileNumber != mine {
      return .waiting
    }
    if let slot, other == nil, slot.isEmbedded != (document.body != nil) {
      try recovery.writeMetadata(of: slot, in: target, entries)
      isNew = true
    } else if other == nil {
      try link(name, of: source, to: metadata, in: target, path)
      isNew = true
    }
    if isNew { try synchronize(target, hash, entries, path) }
    if slot != nil { return isNew ? .placed : .refused }
    return try recovery.takeUp(hash, entry.variant, entries) ? .placed : .refused
  }

  /// Syncs the names of files that were placed, before their other names, or the files of which they are
  /// copies, are removed.
  func synchronize(
    _ target: borrowing Descriptor, _ hash: KeyHash, _ entries: EntriesDirectory, _ path: [UInt8]
  ) throws(StoreError) {
    let shard = Layout.shard(Layout.shardNumber(of: hash))
    try guarded(path) { () throws(SystemError) in
      try fileSystem.synchronize(target, names: true)
      let directory = try fileSystem.open(shard, in: entries.directory, [.read, .directory])
      try fileSystem.synchronize(directory, names: true)
      try fileSystem.synchronize(entries.directory, names: true)
    }
  }

  /// Gives a file a second name in the directory of a key, in place of what is there. If no hard link is
  /// possible, copies it.
  func link(
    _ name: PathName, of source: borrowing Descriptor, to other: PathName,
    in target: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) {
    let session = try catalog.writer.ownSession()
    let new = session.unusedName()
    if try !link(name, in: source.raw, to: new, of: session, path) {
      try copy(name, of: source, to: new, session, path)
    }
    try rename(new, of: session, to: other, in: target, path)
  }
}
