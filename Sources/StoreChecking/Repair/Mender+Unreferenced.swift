internal import CacheFormat
internal import CacheStore
internal import CacheSystem

// Files of a key to which no entry refers. What is deleted of them is decided here.
extension Mender {
  /// Takes files to which no entry refers out of the directory of a key.
  ///
  /// They are deleted if they were removed according to the journal, and no entry has a body with that digest,
  /// which may lack its file. Otherwise they are moved to the quarantine: a dead session does not show that
  /// they are left-overs, because the process that was killed may have been a repair. A body is not given to
  /// an entry that lacks one with its digest, because a digest can be forged.
  func takeOut(
    _ names: [PathName], wereRemoved: Bool, _ reason: String, _ scene: KeyScene,
    _ directory: borrowing Descriptor, _ shard: borrowing Shard
  ) throws(StoreError) {
    let isNeeded = names.contains { name in
      guard case .body(let digest) = Layout.keyFile(name),
        let status = try? fileSystem.status(at: name, in: directory.raw)
      else { return false }
      return catalog.hasBody(digest, length: status.length)
    }
    if wereRemoved, !isNeeded { return try remove(names, in: directory, scene.path) }
    try recovery.quarantine(names, of: scene.hash, in: shard, note: note(reason, scene))
  }

  /// Returns whether the journal has the record of the removal of an entry that is in a wrong place.
  func wasRemoved(_ facts: DocumentFacts) throws(StoreError) -> Bool {
    guard journalDecides, catalog.slot(facts.keyHash, facts.variant) == nil else { return false }
    return try catalog.goodbye(
      to: facts.keyHash, facts.variant, facts.digest, sequence: facts.sequence) == .removed
  }

  /// Repairs a body to which no entry refers.
  ///
  /// If the journal is damaged, or the directory has a file that may belong to the body (a damaged
  /// metadata file, or one under another name), a safe repair leaves it.
  func mendOrphan(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let name = suspicion.name, case .body(let digest) = Layout.keyFile(name),
      try !hasBodyFile(digest, of: scene.hash),
      let directory = try openKey(scene, shard)
    else { return false }
    let isKnown = journalDecides && !hasUnknown(scene)
    if !isKnown && level != .all { return false }
    let wasRemoved = isKnown ? try catalog.hasRemoved(digest, of: scene.hash) : false
    try takeOut(
      [name], wereRemoved: wasRemoved, "no metadata file names this body.", scene, directory, shard)
    return true
  }
}
