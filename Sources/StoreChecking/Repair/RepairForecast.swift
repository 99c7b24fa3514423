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

  /// Returns whether a repair would restore an entry.
  ///
  /// - Parameter withUnreadable: Whether a body that cannot be read now counts as the right one.
  private func isRestorable(
    _ slot: Slot, _ kinds: [FindingKind], _ scene: KeyScene, withUnreadable: Bool = true
  ) -> Bool {
    if kinds.contains(.metadataMissing), store.recovery.mayBeRemoved(slot) { return false }
    if kinds == [.metadataMissing] { return true }
    var isMissing = kinds.contains(.entryMissing)
    if case .missing = scene.directory { isMissing = true }
    // If the journal has lost records, the entry may have been removed.
    if isMissing, !catalog.isJournalKnown { return false }
    do throws(StoreError) {
      if try catalog.carriedBody(of: slot) != nil { return true }
    } catch {
      return withUnreadable
    }
    if slot.isEmbedded { return false }
    var tried: Set<UInt64> = []
    // A body that is too long may begin with the right one.
    if kinds.contains(.bodyLong),
      holdsBody(of: slot, scene.hash, cut: true, &tried) ?? withUnreadable
    {
      return true
    }
    return store.recovery.sharers(of: slot, most: Mender.maximumSharers).contains {
      $0.keyHash != slot.keyHash
        && holdsBody(of: slot, $0.keyHash, cut: false, &tried) ?? withUnreadable
    }
  }

  /// Returns whether a key has a file with the body of an entry; `nil` if it cannot be read now: then a
  /// repair leaves the entry as it is.
  ///
  /// - Parameters:
  ///   - cut: Whether it may be longer.
  ///   - tried: The numbers of the files that have been read already.
  private func holdsBody(
    of slot: Slot, _ hash: KeyHash, cut: Bool, _ tried: inout Set<UInt64>
  ) -> Bool? {
    let (files, entries) = (store.fileSystem, catalog.entriesDirectory)
    do throws(SystemError) {
      let file = try files.open(
        Layout.bodyPath(hash, slot.digest), in: entries.directory, [.read])
      let status = try files.status(of: file.raw)
      guard status.kind == .file, cut || status.length == slot.length,
        tried.insert(status.fileNumber).inserted
      else { return false }
      return try files.holdsBody(
        file, slot.digest, count: slot.length, hashSeed: store.hashSeed)
    } catch {
      return error == .notFound || error.isWrongKind ? false : nil
    }
  }
}
