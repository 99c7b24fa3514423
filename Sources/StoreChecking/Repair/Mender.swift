internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The outcome of an attempt to repair something. Another examination shows whether it is right
/// now.
enum MendAttempt: Sendable, Hashable {
  /// There was nothing to do, or the level of the repair does not include it.
  case none
  case done
  /// The repair failed, for this reason.
  case failed(String)
}

/// The repair of what a check has found, with the engine's own steps (Docs/Architecture.md, "A
/// check"). The suspicions of a call were found with the lock held.
///
/// Damaged files are not deleted, but moved to the quarantine. A file that replaces another one is
/// linked or written in the session's directory and then renamed, so a kill leaves either the old
/// or the new file.
struct Mender: Sendable {
  let store: Store
  let level: RepairLevel
  let pass: CheckPass
  let cancellation: Flag
  private let strays: StrayQuarantine
  /// The sessions that were dead at the beginning. This run repairs what they left.
  private let dead: [PathName]
  /// Whether the journal was whole at the beginning, so that files without a record were never
  /// promised.
  private let wasWhole: Bool
  /// Whether the whole tree was searched for entries whose records are lost.
  private let isSearched: Bool

  var catalog: Catalog { store.catalog }
  var recovery: Recovery { store.recovery }
  var tree: Tree { store.catalog.tree }
  var fileSystem: any FileSystem { store.fileSystem }

  /// Makes a mender for a store that was opened as supervised.
  init(
    _ store: Store, _ level: RepairLevel, _ pass: CheckPass, _ cancellation: Flag
  ) throws(StoreError) {
    (self.store, self.level, self.pass, self.cancellation) = (store, level, pass, cancellation)
    strays = StrayQuarantine(store.fileSystem, store.clock)
    dead = try store.recovery.deadSessionsNow()
    if !dead.isEmpty { try store.catalog.writer.completeRemovalOfAll() }
    // They take room that the repair may need. The directories stay, until it has succeeded.
    store.recovery.removeFiles(ofSessions: dead)
    // Before anything is removed as never promised, and before an entry is placed: its record takes a number
    // that proves a loss.
    isSearched =
      pass.memory.hasSearched.isSet || (try? store.recovery.findLostRecords()) != nil
    // On a full disk, only this process knows what was found.
    if isSearched, store.catalog.isJournalWhole { pass.memory.hasSearched.set() }
    if !isSearched { pass.hasFailed.set() }
    wasWhole = store.catalog.isJournalWhole
  }

  /// Returns the position of a kind in the order of repairs. Wrong and misplaced names are repaired
  /// first, so that the places of other files are free.
  private static func turn(_ kind: FindingKind) -> Int {
    switch kind {
    case .wrongMode: 0
    case .wrongKind, .foreignFile: 1
    case .entryMisplaced, .metadataForeign, .metadataDamaged: 2
    case .entryUnrecorded, .entryReturned, .entryUnexplained, .metadataDiffers, .entryMissing: 3
    case .bodyMissing, .bodyShort, .bodyLong, .bodyWrong: 4
    case .metadataMissing: 5
    case .directoryEmpty: 8
    case .bodyOrphan: 7
    default: 6
    }
  }
}

extension Mender {
  /// Repairs one key, and returns one attempt for each suspicion. The caller holds `shard`.
  func mend(
    _ suspicions: [Suspicion], of scene: KeyScene, in shard: borrowing Shard
  ) -> [MendAttempt] {
    var attempts = [MendAttempt](repeating: .none, count: suspicions.count)
    let order = suspicions.indices.filter { mayMend(suspicions[$0].kind) }
      .sorted { Self.turn(suspicions[$0].kind) < Self.turn(suspicions[$1].kind) }
    for place in order {
      attempts[place] = attempt { () throws(StoreError) in
        try mend(suspicions[place], scene, shard)
      }
    }
    if !order.isEmpty {
      _ = attempt { () throws(StoreError) in try removeDirectory(scene, shard) }
    }
    return attempts
  }

  /// Returns whether there may be something to do at this level. An entry whose right bytes are at
  /// hand is recovered at any level.
  private func mayMend(_ kind: FindingKind) -> Bool {
    switch kind {
    case .entryMissing, .bodyMissing, .bodyShort, .bodyLong, .bodyWrong: true
    case .entryUnrecorded, .entryUnexplained, .bodyOrphan, .entryMisplaced, .entryReturned:
      isSearched && level.reaches(kind)
    default: level.reaches(kind)
    }
  }

  /// Repairs what one suspicion is about.
  ///
  /// - Returns: false if there was nothing to do.
  private func mend(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    let slot = suspicion.variant.flatMap { catalog.settledSlot(scene.hash, $0) }
    switch suspicion.kind {
    case .wrongMode, .wrongKind, .foreignFile:
      return try mendName(suspicion, scene, shard)
    case .directoryEmpty: return try removeDirectory(scene, shard)
    case .entryMissing: return try mendMissing(slot, scene, shard)
    case .entryUnrecorded: return try mendUnrecorded(suspicion, scene, shard)
    case .entryReturned: return try takeUpAgain(suspicion, scene, shard)
    case .entryUnexplained: return try mendUnexplained(suspicion, scene, shard)
    case .entryMisplaced: return try mendMisplaced(suspicion, scene, shard)
    case .metadataMissing: return try mendMissingMetadata(slot, scene, shard)
    case .metadataDamaged, .metadataForeign:
      return try mendMetadata(suspicion, slot, scene, shard)
    case .metadataDiffers: return try mendDiffering(slot, scene, shard)
    case .bodyMissing, .bodyShort, .bodyLong, .bodyWrong:
      return try mendBodies(suspicion, slot, scene, shard)
    case .bodyOrphan: return try mendOrphan(suspicion, scene, shard)
    case .bodyUnshared: return try share(suspicion, slot, scene, shard)
    case .usageWrong: return try mendUsage(slot, scene, shard)
    default: return false
    }
  }

  // MARK: Names

  private func mendName(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let name = suspicion.name else {
      if suspicion.kind == .foreignFile { return try moveStrays(scene, shard) }
      return try mend(
        suspicion.kind, Layout.key(scene.hash), in: shard.directory.raw, path: suspicion.path)
    }
    guard let directory = try openKey(scene, shard) else { return false }
    if suspicion.kind == .wrongMode,
      (try? fileSystem.status(at: name, in: directory.raw))?.isLinked == true
    {
      try detach(name, in: directory, scene)
      return true
    }
    return try mend(suspicion.kind, name, in: directory.raw, path: suspicion.path)
  }

  /// Moves all foreign names of a key's directory to the quarantine, except directories, which are
  /// searched first.
  private func moveStrays(
    _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let directory = try openKey(scene, shard) else { return false }
    var hasMoved = false
    while true {
      var names: [PathName] = []
      try guarded(scene.path) { () throws(SystemError) in
        try fileSystem.list(directory.raw) { name, kind in
          if kind != .directory, Layout.keyFile(name) == .foreign { names.append(name) }
          return names.count < KeyScene.maximumExtras
        }
      }
      if names.isEmpty { return hasMoved }
      hasMoved = true
      for name in names {
        _ = try mend(.foreignFile, name, in: directory.raw, path: scene.path(name))
      }
    }
  }

  /// Sets the mode of a file or directory, or moves it to the quarantine.
  private func mend(
    _ kind: FindingKind, _ name: PathName, in directory: Int32, path: [UInt8]
  ) throws(StoreError) -> Bool {
    try guarded(path) { () throws(SystemError) in
      switch kind {
      case .wrongMode: return try setMode(name, in: directory, fileSystem)
      case .wrongKind, .foreignFile:
        let source = Array(path.dropLast(name.count + 1))
        try strays.move(name, in: directory, of: source, to: tree.place.quarantine)
      default: return false
      }
      return true
    }
  }

  /// Repairs a name in `directory`, anywhere in the store except in the directory of a key: a
  /// foreign file, or one of a wrong kind, mode or place.
  ///
  /// - Parameters:
  ///   - mayMove: whether nothing below a directory is left that could not be read or placed.
  ///   - wasEmpty: whether nothing was in a directory before this repair.
  func mendStray(
    _ suspicion: Suspicion, _ name: PathName, in directory: Int32, mayMove: Bool,
    wasEmpty: Bool
  ) -> MendAttempt {
    let isForeign = suspicion.kind == .entryMisplaced || suspicion.kind == .foreignFile
    return attempt(ofEntries: suspicion.kind == .entryMisplaced) { () throws(StoreError) in
      if isForeign, (try? fileSystem.status(at: name, in: directory))?.kind == .directory {
        guard isSearched else {
          throw StoreError(
            .inputOutput, path: store.path, cause: "entries may be where nothing can be read",
            remedy: "repair that first")
        }
        return try placeEntries(
          of: name, in: directory, suspicion.path, mayMove: mayMove, wasEmpty: wasEmpty)
      }
      guard level.reaches(suspicion.kind) else { return false }
      return try mend(suspicion.kind, name, in: directory, path: suspicion.path)
    }
  }

  /// Moves a name to the quarantine, at any level.
  func moveAway(_ name: PathName, in directory: Int32, path: [UInt8]) throws(StoreError) {
    _ = try mend(.foreignFile, name, in: directory, path: path)
  }

  // MARK: The end

  /// Renews the journal if it is not whole, and removes dead sessions. Called after all shards were
  /// repaired. Another check shows what is still wrong.
  ///
  /// - Parameters:
  ///   - journal: the suspicions about the journal.
  ///   - gaveUp: called with each entry in the log that is given up.
  func finish(journal: [Suspicion], gaveUp: (Slot) -> Void) -> MendAttempt {
    do throws(StoreError) {
      if !catalog.isJournalWhole {
        // What has no files may be what was not read, or is going to be placed.
        if pass.missing == .wait ? !pass.foundAll : pass.hasFailed.isSet {
          return .failed("not all could be read or mended; the journal stays as it is until it is")
        }
        if try !recovery.separateMissing() {
          return .failed(
            "entries are missing that it may have removed; a repair of all gives them up")
        }
      }
      try recovery.takeUpAndRenew(gaveUp)
      try catalog.writer.cutTornTail()
      try removeForeignSegments(journal)
      try recovery.removeUnfinished()
      // Dead sessions are the sign that tree and journal have to be compared.
      if pass.hasFailed.isSet {
        return .failed("not all could be mended; what dead processes left stays until it is")
      }
      try recovery.completeRemovals(of: dead)
      try catalog.checkReadable()
      recovery.removeSessions(dead)
      // A session with directories deeper than those of a store is not emptied, so it is moved to
      // the quarantine.
      for name in dead where (try? fileSystem.status(at: name, in: tree.place.staging.raw)) != nil {
        try moveAway(
          name, in: tree.place.staging.raw, path: Layout.staging.bytes + [0x2F] + name.bytes)
      }
      return .done
    } catch {
      return .failed("\(error.cause); \(error.remedy)")
    }
  }

  /// Moves files to the quarantine that have the name of a segment, but are none of this journal.
  private func removeForeignSegments(_ suspicions: [Suspicion]) throws(StoreError) {
    try catalog.checkReadable()
    for suspicion in suspicions where suspicion.kind == .segmentDamaged {
      guard let name = suspicion.name, let number = Layout.segmentNumber(name),
        !catalog.hasSegment(number),
        (try? fileSystem.status(at: name, in: tree.place.journal.raw)) != nil
      else { continue }
      try moveAway(name, in: tree.place.journal.raw, path: suspicion.path)
    }
  }
}

extension Mender {
  /// Runs a repair, which returns false if there was nothing to do.
  ///
  /// - Parameter ofEntries: whether it concerns entries, so that the signs of dead processes stay if it
  ///   fails.
  func attempt(
    ofEntries: Bool = true, _ repair: () throws(StoreError) -> Bool
  ) -> MendAttempt {
    do throws(StoreError) {
      try catalog.checkReadable()
      return try repair() ? .done : .none
    } catch {
      if ofEntries { pass.hasFailed.set() }
      return .failed("\(error.cause); \(error.remedy)")
    }
  }

  /// Whether entries that are missing or have no right body are given up.
  var givesUp: Bool { pass.missing == .giveUp && !pass.hasFailed.isSet }

  /// Whether the journal is whole, so that files without a record were never promised.
  var journalDecides: Bool { wasWhole && catalog.isJournalWhole }

  /// Runs system calls, and adds a path below the store to their error.
  func guarded<R: ~Copyable>(
    _ path: [UInt8], _ body: () throws(SystemError) -> R
  ) throws(StoreError) -> R {
    try store.guarded(path, body)
  }

  func openKey(_ scene: KeyScene, _ shard: borrowing Shard) throws(StoreError) -> Descriptor? {
    try tree.openKey(scene.hash, in: shard)
  }

  /// Opens the directory of a key by its path in `entries`, and makes it if it is missing.
  func makeKey(
    _ path: PathName, _ entries: EntriesDirectory
  ) throws(StoreError) -> Descriptor {
    try guarded(Layout.entries.bytes + [0x2F] + path.bytes) { () throws(SystemError) in
      try StorePlace.makeDirectory(path, entries.directory, fileSystem)
      return try fileSystem.open(path, in: entries.directory, [.read, .directory])
    }
  }

  func make(
    _ name: PathName, _ shard: borrowing Shard, _ path: [UInt8]
  ) throws(StoreError) -> Descriptor {
    try guarded(path) { () throws(SystemError) in
      try StorePlace.makeDirectory(name, shard.directory, fileSystem)
      return try fileSystem.open(name, in: shard.directory, [.read, .directory])
    }
  }

  /// Removes the directory of a key without entries, if it is empty.
  func removeDirectory(
    _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard catalog.settledSlots(of: scene.hash).isEmpty else { return false }
    let raw = shard.directory.raw
    return try guarded(scene.path) { () throws(SystemError) in
      do throws(SystemError) {
        try fileSystem.removeDirectory(Layout.key(scene.hash), in: raw)
        return true
      } catch  where error == .notEmpty || error == .notFound || error.isWrongKind {
        return false
      }
    }
  }
}
