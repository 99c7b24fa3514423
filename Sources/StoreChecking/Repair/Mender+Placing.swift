internal import CacheFormat
internal import CacheStore
internal import CacheSystem

// Placing whole entries: of several versions of one, the newest wins.
extension Mender {
  /// The number of attempts to take the lock of another shard, which take about a tenth of a
  /// second.
  private static var lockAttempts: Int { 100 }

  enum Placement {
    case placed
    /// The entry is whole in its place, in the same version or a newer one.
    case copy
    /// The entry is not whole, or is older than the one in the journal.
    case refused
    /// The journal has removed the entry, which is not brought back by a copy.
    case removed
    /// Its place is taken by what is repaired in its turn. A later pass tries again.
    case waiting
  }

  /// Verifies an entry, links it into the directory of its key, and appends its record.
  ///
  /// - Parameter held: the number of the shard whose lock the caller holds; `nil` if it holds none.
  func place(
    _ name: PathName, of source: borrowing Descriptor, held: Int?, _ entries: EntriesDirectory,
    _ path: [UInt8]
  ) throws(StoreError) -> Placement {
    guard let document = try store.readDocument(name, source, path) else { return .refused }
    let hash = KeyHash(hashing: document.entry.key, seed: store.hashSeed)
    try checkIsElsewhere(name, of: source, document, hash, entries, path)
    let placement = try place(name, of: source, document, hash, held: held, entries, path)
    if placement == .refused,
      try store.hasEntry(document, hash, entries, journalDecides: journalDecides)
    {
      return .copy
    }
    return placement
  }

  /// Throws an error if a metadata file in a wrong place is the very file in its place, by another path.
  private func checkIsElsewhere(
    _ name: PathName, of source: borrowing Descriptor, _ document: MetadataDocument,
    _ hash: KeyHash, _ entries: EntriesDirectory, _ path: [UInt8]
  ) throws(StoreError) {
    guard name.bytes == Layout.metadata(document.entry.variant).bytes,
      let place = try tree.openKey(hash, at: Layout.keyPath(hash), in: entries.directory)
    else { return }
    let isSame = try guarded(path) { () throws(SystemError) in
      try fileSystem.status(of: place.raw).identity
        == fileSystem.status(of: source.raw).identity
    }
    if !isSame { return }
    throw StoreError(
      .inputOutput, path: "\(store.path)/\(String(decoding: path, as: UTF8.self))",
      cause: "it is entries/\(Layout.keyPath(hash).text) by another path", remedy: "unmount it")
  }

  private func place(
    _ name: PathName, of source: borrowing Descriptor, _ document: MetadataDocument,
    _ hash: KeyHash, held: Int?, _ entries: EntriesDirectory, _ path: [UInt8]
  ) throws(StoreError) -> Placement {
    if document.body == nil, try !isWhole(document.entry, in: source) { return .refused }
    if held == nil {
      return try catalog.withShard(of: hash) { shard throws(StoreError) in
        try place(name, of: source, document, hash, shard.entries, path)
      }
    }
    if Layout.shardNumber(of: hash) == held {
      return try place(name, of: source, document, hash, entries, path)
    }
    // A thread that holds one lock never waits for another. Otherwise two threads could wait for
    // each other.
    for _ in 0..<Self.lockAttempts {
      let placement = try tree.tryWithShard(of: hash, in: entries) { _ throws(StoreError) in
        try place(name, of: source, document, hash, entries, path)
      }
      if let placement { return placement }
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
    let standing = try store.standing(for: entry, hash, entries)
    if let slot,
      store.isNewer(document, than: slot, standing, journalDecides: journalDecides)
    {
      return try replace(slot, with: document, name, standing, of: source, hash, entries, path)
    }
    // An entry that only the journal has is newer than any file.
    if slot?.isUnsettled == true { return .refused }
    if let slot, slot.digest != entry.digest || slot.length != entry.length { return .refused }
    if slot == nil,
      try catalog.goodbye(
        to: hash, entry.variant, entry.digest, sequence: document.sequence) == .removed
    {
      return .removed
    }
    if case .others = standing { return .waiting }
    if slot == nil, case .nothing = standing, catalog.isBeyondJournal(document.sequence) {
      return try replace(nil, with: document, name, standing, of: source, hash, entries, path)
    }
    let target = try makeKey(Layout.keyPath(hash), entries)
    let raw = target.raw
    let (there, mine) = try guarded(path) { () throws(SystemError) in
      var there: FileStatus?
      do throws(SystemError) {
        there = try fileSystem.status(at: metadata, in: raw)
      } catch  where error == .notFound {}
      return (there, try fileSystem.status(at: name, in: source.raw))
    }
    var other: MetadataDocument?
    if case .entry(let document) = standing { other = document }
    var isNew = false
    if slot?.hasBodyFile ?? (document.body == nil), try !isWhole(entry, in: target) {
      // What is there without a record is repaired in its turn. Only a metadata file of the same entry, which
      // lacks the body, gets that now.
      if slot == nil, there != nil, other?.body != nil || other?.entry.digest != entry.digest {
        return .waiting
      }
      if let slot, let body = try catalog.carriedBody(of: slot) {
        try write(body, to: Layout.body(slot.digest), in: target, path)
      } else if let slot, document.body != nil {
        _ = try writeBody(of: document, slot, in: target, path)
      } else {
        let body = Layout.body(entry.digest)
        try link(body, of: source, to: body, in: target, path)
      }
      isNew = true
    } else if slot == nil, there != nil, there?.identity != mine.identity {
      return .waiting
    }
    // The record of a whole journal is the entry, whatever this file says of pin and times.
    if let slot,
      other == nil && (catalog.isJournalWhole || slot.isEmbedded != (document.body != nil))
        || isOutdated(other, slot, document)
    {
      try recovery.writeMetadata(
        of: slot, in: target, entries, body: embeddedBody(of: document, slot))
      isNew = true
    } else if other == nil {
      try link(name, of: source, to: metadata, in: target, path)
      isNew = true
    }
    if isNew { try synchronize(target, hash, entries, path) }
    if slot != nil { return isNew ? .placed : .refused }
    guard try recovery.takeUp(hash, entry.variant, entries) else { return .refused }
    // The metadata file that lacked its body is an older version: this one replaces it in the next pass.
    if let other, document.version.isNewer(than: other.version) { return .waiting }
    return .placed
  }

  /// Returns whether a metadata file elsewhere is the version that the journal has, with its body, and the
  /// one in its place is not.
  private func isOutdated(
    _ other: MetadataDocument?, _ slot: Slot, _ document: MetadataDocument
  ) -> Bool {
    // A newer one in its place may prove that the journal has lost its record.
    guard let other, !other.version.isNewer(than: document.version),
      embeddedBody(of: document, slot) != nil, let record = catalog.record(of: slot)
    else { return false }
    return record.isSame(as: document.entry) && !record.isSame(as: other.entry)
  }

  /// Puts a newer version in the place of an entry, or an entry in its place. Its record comes before its
  /// metadata file. After a kill, the version is still at its wrong place, too.
  ///
  /// The file keeps its number, so that a still newer version is known as such, unless the journal does
  /// not reach that far.
  private func replace(
    _ old: Slot?, with document: MetadataDocument, _ name: PathName, _ standing: Store.Standing,
    of source: borrowing Descriptor, _ hash: KeyHash, _ entries: EntriesDirectory, _ path: [UInt8]
  ) throws(StoreError) -> Placement {
    switch standing {
    case .others: return .waiting
    // That is repaired in its turn.
    case .entry(let other) where other.version.isNewer(than: document.version): return .waiting
    default: break
    }
    let entry = document.entry
    let target = try makeKey(Layout.keyPath(hash), entries)
    if document.body == nil, try !isWhole(entry, in: target) {
      let body = Layout.body(entry.digest)
      try link(body, of: source, to: body, in: target, path)
    }
    try synchronize(target, hash, entries, path)
    let isBeyond = catalog.isBeyondJournal(document.sequence)
    guard try recovery.takeUp(document, hash, entries, replacing: old, isElsewhere: true),
      let slot = catalog.slot(hash, entry.variant)
    else { return .waiting }
    if isBeyond {
      try recovery.writeMetadata(of: slot, in: target, entries)
    } else {
      try link(name, of: source, to: Layout.metadata(entry.variant), in: target, path)
    }
    try synchronize(target, hash, entries, path)
    let found = try store.readForeign(target, path, cancellation)
    if let old, old.hasBodyFile, !found.hasUnknown, found.users[old.digest] == nil,
      try !hasBodyFile(old.digest, of: hash)
    {
      try remove([Layout.body(old.digest)], in: target, path)
    }
    return .placed
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
