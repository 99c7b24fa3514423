internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// Finds out what a repair of all damage would take out of the store, without writing anything.
///
/// It follows ``Mender``: bodies are restored from their records, or from entries that shared them.
struct RepairForecast {
  let store: Store

  private var catalog: Catalog { store.catalog }

  /// Returns the entries of a key that a repair could not restore.
  func losses(_ suspicions: [Suspicion], of scene: KeyScene) -> [Slot] {
    scene.slots.filter { slot in
      let about = suspicions.filter { $0.mayLose && $0.isAbout(slot) }
      return !about.isEmpty && !isRestorable(slot, about.map(\.kind), scene)
    }
  }

  /// Returns whether a safe repair would restore the entry or body that a suspicion is about.
  func isRestorable(_ suspicion: Suspicion, of scene: KeyScene) -> Bool {
    switch suspicion.kind {
    case .entryMissing, .bodyMissing, .bodyShort, .bodyLong, .bodyWrong:
      guard let slot = suspicion.variant.flatMap({ scene.slot($0) }) else { return false }
      return isRestorable(slot, [suspicion.kind], scene, withUnreadable: false)
    default: return false
    }
  }

  /// Returns the number of entries without a record that a repair would recover with a wrong body, and
  /// then give up.
  func unrecordedLosses(_ suspicion: Suspicion, of scene: KeyScene) -> Int {
    guard suspicion.kind == .bodyWrong, !catalog.isJournalKnown else { return 0 }
    return scene.metadata.count { variant, file in
      guard case .document(let facts) = file.reading, scene.slot(variant) == nil,
        suspicion.name?.bytes == Layout.body(facts.digest).bytes
      else { return false }
      let goodbye = try? catalog.goodbye(
        to: scene.hash, variant, facts.digest, sequence: facts.sequence)
      return goodbye != .removed
    }
  }

  /// Returns whether a safe repair would leave a whole entry in a foreign directory: one whose place has it, or
  /// a newer version, beside something that may be the only copy.
  func isLeft(
    in directory: borrowing Descriptor, _ path: [UInt8], _ cancellation: Flag
  ) throws(StoreError) -> Bool {
    // Otherwise the tree decides.
    guard catalog.isJournalWhole else { return false }
    // A repair removes the directories that it has emptied.
    var found = try store.readForeign(directory, path, cancellation, sparingDirectories: true)
    let entries = catalog.entriesDirectory
    var (hasOthers, hasCopies) = (found.hasUnknown, false)
    for (variant, digest) in found.documents {
      let name = Layout.metadata(variant)
      guard let document = try store.readDocument(name, directory, path) else { continue }
      let (entry, hash) = (
        document.entry, KeyHash(hashing: document.entry.key, seed: store.hashSeed)
      )
      let isWhole = document.body == nil ? try store.isWhole(entry, in: directory, path) : true
      if try store.hasEntry(document, hash, entries, journalDecides: true) {
        hasCopies = hasCopies || isWhole
      } else if !isWhole {
        hasOthers = true
        continue
      } else if let slot = catalog.slot(hash, entry.variant),
        slot.isUnsettled || slot.digest != entry.digest || slot.length != entry.length,
        try !store.isNewer(
          document, than: slot, store.standing(for: entry, hash, entries), journalDecides: true)
      {
        return true
      }
      found.bodies.remove(digest)
    }
    return hasCopies && (hasOthers || !found.bodies.isEmpty)
  }

  /// Returns whether a repair would restore an entry.
  ///
  /// - Parameter withUnreadable: Whether a body that cannot be read now counts as the right one.
  private func isRestorable(
    _ slot: Slot, _ kinds: [FindingKind], _ scene: KeyScene, withUnreadable: Bool = true
  ) -> Bool {
    if hasNewer(slot, scene) { return true }
    if kinds.contains(.metadataMissing), store.recovery.mayBeRemoved(slot) { return false }
    if kinds == [.metadataMissing] { return true }
    var isMissing = kinds.contains(.entryMissing)
    if case .missing = scene.directory { isMissing = true }
    // If the journal has lost records, the entry may have been removed.
    if isMissing, !catalog.isJournalKnown { return false }
    do throws(StoreError) {
      if try catalog.carriedBody(of: slot) != nil { return true }
      if slot.isEmbedded { return false }
      let own = Layout.bodyPath(scene.hash, slot.digest)
      // A body that is too long may begin with the right one.
      if kinds.contains(.bodyLong), try hasBody(of: slot, at: own, cut: true) { return true }
      return try store.findShared(slot) { path throws(StoreError) in
        try hasBody(of: slot, at: path, cut: false)
      }
    } catch {
      // A repair leaves the entry as it is.
      return withUnreadable
    }
  }

  /// Returns whether the tree has a newer version of an entry than the journal, which has lost its record.
  private func hasNewer(_ slot: Slot, _ scene: KeyScene) -> Bool {
    guard case .document(let facts)? = scene.metadata[slot.variant]?.reading,
      facts.keyHash == scene.hash, facts.variant == slot.variant, let sequence = facts.sequence,
      let record = catalog.record(of: slot), sequence > record.sequence
    else { return false }
    if facts.hasBody { return true }
    guard let body = scene.bodies[facts.digest] else { return false }
    if case .wrong = body.reading { return false }
    return body.status.kind == .file && body.status.length == facts.length
  }

  private func hasBody(of slot: Slot, at path: PathName, cut: Bool) throws(StoreError) -> Bool {
    let entries = catalog.entriesDirectory
    return try store.guarded(Layout.entries.bytes + [0x2F] + path.bytes) {
      () throws(SystemError) in
      try store.hasBody(
        path, in: entries.directory, slot.digest, length: slot.length, cut: cut)
    }
  }
}
