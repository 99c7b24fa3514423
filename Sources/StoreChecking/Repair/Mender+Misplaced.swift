internal import CacheFormat
internal import CacheStore
internal import CacheSystem

// Repairs of whole entries in the directory of another key, or elsewhere.
extension Mender {
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
    case .waiting:
      guard let document = try store.readDocument(name, directory, scene.path) else { return false }
      try moveOut(document, variant, scene, directory, shard)
    case .copy, .refused, .removed:
      // If another entry has taken the place, this may be the only copy.
      let wasRemoved = try wasRemoved(facts)
      guard placement != .refused || wasRemoved || movesOthers else { return false }
      return try takeOut(
        variant, wasRemoved: wasRemoved, scene, shard,
        "it is of another key, whose place has it, or was not whole.")
    }
    try removeFiles(of: variant, scene, directory, suspicion.path)
    return true
  }

  private func moveOut(
    _ document: MetadataDocument, _ variant: UInt64, _ scene: KeyScene,
    _ source: borrowing Descriptor, _ shard: borrowing Shard
  ) throws(StoreError) {
    pass.hasUnplaced.set()
    let name = Layout.misplaced(from: scene.hash)
    pass.memory.insert(
      detour: Array(scene.path.dropLast(Layout.key(scene.hash).count)) + name.bytes)
    try recovery.copyAside(
      document, variant, hasBody: document.body == nil, in: source, name, of: scene.hash, shard)
    try synchronize(make(name, shard, scene.path), scene.hash, shard.entries, scene.path)
  }

  /// Whether what may be the only copy is quarantined. A pass that waits may still find a place for it, and a
  /// journal that is not whole may have another entry there.
  private var movesOthers: Bool {
    level == .all && pass.missing != .wait && catalog.isJournalWhole
  }

  /// Returns whether the body file of an entry is whole.
  func isWhole(
    _ entry: StoredEntry, in directory: borrowing Descriptor
  ) throws(StoreError) -> Bool {
    try isWhole(Layout.body(entry.digest), in: directory, entry.digest, length: entry.length)
  }

  /// Moves the entries of a foreign directory to their places, and the rest of the directory to the
  /// quarantine. A safe repair does the latter only if all of the rest are copies of entries that
  /// are in their places, or were removed; otherwise copies of removed entries are moved alone.
  ///
  /// - Parameters:
  ///   - mayMove: whether the rest may be moved.
  ///   - wasEmpty: whether nothing was in it before this repair, so that a safe repair leaves it.
  /// - Returns: false if the directory stays.
  func placeEntries(
    of name: PathName, in parent: Int32, _ path: [UInt8], mayMove: Bool, wasEmpty: Bool
  ) throws(StoreError) -> Bool {
    let directory = try guarded(path) { () throws(SystemError) in
      try fileSystem.open(name, in: parent, [.read, .directory])
    }
    var found = try store.readForeign(directory, path, cancellation)
    if !found.documents.isEmpty {
      // Its owner must be allowed to write, so that what is placed can be removed from it.
      for raw in [parent, directory.raw] { try? fileSystem.permitOwner(raw) }
    }
    // Whether there is anything that is neither placed nor a copy, so that it may be the only one.
    var hasOthers = found.hasUnknown
    var (hasCopies, hasWaiting) = (false, false)
    var removed: [(PathName, Digest)] = []
    for (variant, digest) in found.documents {
      if cancellation.isSet { return false }
      do throws(StoreError) {
        let file = Layout.metadata(variant)
        let placement = try place(file, of: directory, held: nil, catalog.entriesDirectory, path)
        switch placement {
        case .placed:
          found.bodies.remove(digest)
          try remove(found.files(file, digest), in: directory, path)
        case .copy, .removed:
          found.bodies.remove(digest)
          hasCopies = true
          if placement == .removed { removed.append((file, digest)) }
        case .refused: hasOthers = true
        case .waiting: hasWaiting = true
        }
      } catch { found.failure = found.failure ?? error }
    }
    if let failure = found.failure { throw failure }
    if !wasEmpty, (try? fileSystem.removeDirectory(name, in: parent)) != nil { return true }
    if hasWaiting { pass.hasUnplaced.set() }
    guard mayMove, !hasWaiting,
      hasCopies && !hasOthers && found.bodies.isEmpty
        || movesOthers && !(path.isAtOrBelow(Array("lost+found".utf8)) && found.hasUnknown)
    else {
      // Before the journal is written anew: then nothing says that they were removed.
      for (file, digest) in removed {
        for name in found.files(file, digest) where !fileSystem.isMissing(name, in: directory.raw) {
          try moveAway(name, in: directory.raw, path: path + [0x2F] + name.bytes)
        }
      }
      return false
    }
    try moveAway(name, in: parent, path: path)
    return true
  }
}
