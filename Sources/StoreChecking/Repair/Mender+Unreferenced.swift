internal import CacheFormat
internal import CacheStore
internal import CacheSystem

// Files of a key to which no entry refers. What is deleted of them is decided here.
extension Mender {
  /// Takes files to which no entry refers out of the directory of a key. Each recorded entry that lacks one
  /// of the bodies gets it before.
  ///
  /// They are deleted if they were removed according to the journal, or if entries have all the bodies and
  /// there is nothing else. Otherwise they are moved to the quarantine: a dead session does not show that
  /// they are left-overs, because the process that was killed may have been a repair.
  func takeOut(
    _ names: [PathName], wereRemoved: Bool, _ reason: String, _ scene: KeyScene,
    _ directory: borrowing Descriptor, _ shard: borrowing Shard
  ) throws(StoreError) {
    var areCopies = true
    for name in names {
      guard case .body(let digest) = Layout.keyFile(name),
        try supply(digest, scene, directory, shard)
      else {
        areCopies = false
        continue
      }
    }
    if wereRemoved || areCopies { return try remove(names, in: directory, scene.path) }
    try recovery.quarantine(names, of: scene.hash, in: shard, note: note(reason, scene))
  }

  /// Links a body to the recorded entries of other keys that lack it.
  ///
  /// - Returns: whether one of them has the body now.
  private func supply(
    _ digest: Digest, _ scene: KeyScene, _ source: borrowing Descriptor, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    let name = Layout.body(digest)
    var (isThere, isWhole) = (false, false)
    // The files with the right bytes. Many entries may have one.
    var right: Set<UInt64> = []
    for slot in catalog.slots(withBodyFile: digest) where slot.keyHash != scene.hash {
      if !isWhole { isWhole = try self.isWhole(name, in: source, digest, length: slot.length) }
      if !isWhole { return false }
      let path = Layout.keyPath(slot.keyHash)
      let entries = shard.entries
      let held = Layout.shardNumber(of: scene.hash)
      try whileLocked(slot.keyHash, held, entries) { () throws(StoreError) in
        guard catalog.settledSlot(slot.keyHash, slot.variant)?.isSameRecord(as: slot) == true
        else { return }
        // If the journal has lost records, an entry without files may have been removed.
        let metadata = Layout.metadataPath(slot.keyHash, slot.variant)
        if !journalDecides, fileSystem.isMissing(metadata, in: entries.directory.raw) { return }
        let target = try makeKey(path, entries)
        let there = try? fileSystem.status(at: name, in: target.raw).fileNumber
        if there.map(right.contains) != true,
          try !self.isWhole(name, in: target, digest, length: slot.length)
        {
          try link(name, of: source, to: name, in: target, path.bytes)
          try synchronize(target, slot.keyHash, entries, path.bytes)
        }
        if let now = try? fileSystem.status(at: name, in: target.raw).fileNumber {
          right.insert(now)
        }
        isThere = true
      }
    }
    return isThere
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
