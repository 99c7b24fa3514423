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
