internal import CacheFormat
internal import CacheStore
internal import CacheSystem

// Repairs of entries and their metadata files.
extension Mender {
  /// Repairs an entry that has no files: makes them again if its record or another entry has the
  /// body, otherwise gives the entry up. A safe repair does only the first.
  func mendMissing(
    _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot, pass.missing != .wait else { return false }
    // If the journal has lost records, the entry may have been removed.
    if journalDecides, slot.carriesBody || !recovery.sharers(of: slot, most: 1).isEmpty {
      let directory = try make(Layout.key(scene.hash), shard, scene.path)
      if try recover(slot, in: directory, scene) {
        try recovery.writeMetadata(of: slot, in: directory, shard.entries)
        return true
      }
    }
    guard givesUp else { return false }
    return try recovery.release(slot, shard.entries)
  }

  /// Repairs files without a record: recovers the entry if the journal is damaged, otherwise takes the
  /// files out.
  func mendUnrecorded(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let variant = suspicion.variant, catalog.settledSlot(scene.hash, variant) == nil,
      let directory = try openKey(scene, shard)
    else { return false }
    if try treeDecides(variant, scene, directory) {
      if let slot = catalog.slot(scene.hash, variant) {
        // The index has it in the log.
        if try recovery.takeUpNewer(slot, in: directory, shard.entries) { return true }
      } else if try recovery.takeUp(scene.hash, variant, shard.entries) {
        return true
      }
      // The body is missing or has a wrong length, so this is damage, and no leftover.
      guard level == .all else { return false }
      return try takeOut(variant, scene, shard, "its body was missing, or too short or long.")
    }
    // Those of a version before the one in the log were replaced.
    let wasRemoved =
      scene.goodbyes[variant] == .removed || catalog.slot(scene.hash, variant) != nil
    return try takeOut(
      variant, wasRemoved: wasRemoved, scene, shard,
      "the journal does not know it, and has no record of its removal.")
  }

  /// Removes the metadata file of a variant, and the body that it names, if no other file can be that of
  /// an entry with this body.
  func removeFiles(
    of variant: UInt64, _ scene: KeyScene, _ directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) {
    var files = [Layout.metadata(variant)]
    if case .document(let facts)? = scene.metadata[variant]?.reading, !facts.hasBody,
      !hasUnknown(scene),
      try !isUsed(facts.digest, scene, directory, except: variant)
    {
      files.append(Layout.body(facts.digest))
    }
    try remove(files, in: directory, path)
  }

  func remove(
    _ files: [PathName], in directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) {
    let raw = directory.raw
    try guarded(path) { () throws(SystemError) in
      for file in files {
        do throws(SystemError) {
          try fileSystem.removeFile(file, in: raw)
        } catch  where error == .notFound || error.isWrongKind {}
      }
    }
  }

  /// Recovers an entry that was given up, if its files are intact again. Otherwise moves them to
  /// the quarantine.
  func takeUpAgain(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let variant = suspicion.variant, catalog.settledSlot(scene.hash, variant) == nil,
      case .document(let facts)? = scene.metadata[variant]?.reading,
      let directory = try openKey(scene, shard)
    else { return false }
    var isThere = facts.hasBody
    if !isThere {
      isThere = try isWhole(
        Layout.body(facts.digest), in: directory, facts.digest, length: facts.length)
    }
    if isThere { return try recovery.takeUp(scene.hash, variant, shard.entries) }
    guard level == .all else { return false }
    return try takeOut(variant, scene, shard, "it was given up, and its body is damaged.")
  }

  /// Repairs the files of an entry that neither the journal nor a crash explains. If the journal has lost
  /// records, the entry is recovered. Otherwise its files are moved to the quarantine.
  func mendUnexplained(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let variant = suspicion.variant, catalog.settledSlot(scene.hash, variant) == nil
    else { return false }
    if !journalDecides { return try mendUnrecorded(suspicion, scene, shard) }
    return try takeOut(
      variant, scene, shard, "the journal does not know it, and no crash has left it.")
  }

  /// Repairs a metadata file that is damaged, or of another key, variant or store. Bodies to which
  /// nothing else refers may be those of its entry, and are moved to the quarantine with it.
  func mendMetadata(
    _ suspicion: Suspicion, _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let name = suspicion.name, let directory = try openKey(scene, shard)
    else { return false }
    if let slot, suspicion.kind == .metadataDamaged {
      return try writeMetadata(slot, scene, shard)
    }
    var names = [name]
    for digest in scene.bodies.keys
    where try !isUsed(digest, scene, directory, except: suspicion.variant) {
      names.append(Layout.body(digest))
    }
    try takeOut(names, wereRemoved: false, "\(suspicion.detail).", scene, directory, shard)
    if let slot { return try writeMetadata(slot, scene, shard) }
    return true
  }

  /// Repairs an entry without a metadata file. One that may have been removed is not made again.
  func mendMissingMetadata(
    _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot, recovery.mayBeRemoved(slot) else {
      return try writeMetadata(slot, scene, shard)
    }
    guard givesUp else { return false }
    return try recovery.release(slot, shard.entries)
  }

  /// Writes a metadata file from the record in the journal.
  func writeMetadata(
    _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot, let directory = try openKey(scene, shard) else { return false }
    try recovery.writeMetadata(of: slot, in: directory, shard.entries)
    return true
  }

  /// Repairs a metadata file that differs from the journal. If the journal is damaged, a newer
  /// metadata file is right; otherwise the journal is right.
  func mendDiffering(
    _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot, let directory = try openKey(scene, shard) else { return false }
    if try treeDecides(slot.variant, scene, directory),
      try recovery.takeUpNewer(slot, in: directory, shard.entries)
    {
      return true
    }
    let name = Layout.metadata(slot.variant)
    var body: [UInt8]?
    if let document = try store.readDocument(name, directory, scene.path) {
      _ = try writeBody(of: document, slot, in: directory, scene.path)
      body = embeddedBody(of: document, slot)
    }
    try recovery.writeMetadata(of: slot, in: directory, shard.entries, body: body)
    return true
  }

  /// Returns the body in a metadata file, if it is that of an entry whose metadata file has it.
  func embeddedBody(of document: MetadataDocument, _ slot: Slot) -> [UInt8]? {
    let entry = document.entry
    return slot.isEmbedded && slot.digest == entry.digest && slot.length == entry.length
      ? document.body : nil
  }

  /// Returns whether the journal has lost records. If the metadata file proves it, the journal counts as
  /// damaged from now on, as when the engine finds such a file.
  private func treeDecides(
    _ variant: UInt64, _ scene: KeyScene, _ directory: borrowing Descriptor
  ) throws(StoreError) -> Bool {
    if !journalDecides { return true }
    return try recovery.noteLostRecords([.metadata(variant)], of: scene.hash, in: directory)
  }

  /// Writes a record with the real size of the metadata file.
  func mendUsage(
    _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot, let directory = try openKey(scene, shard) else { return false }
    let name = Layout.metadata(slot.variant)
    let length = try guarded(scene.path(name)) { () throws(SystemError) in
      try fileSystem.status(at: name, in: directory.raw).length
    }
    return try recovery.recordAgain(
      slot, overhead: tree.overhead(Int(min(length, UInt64(MetadataDocument.maximumBytes)))))
  }

  /// Takes the files of a variant without a record out of the directory.
  ///
  /// - Parameter wasRemoved: whether it was removed or replaced according to the journal.
  func takeOut(
    _ variant: UInt64, wasRemoved: Bool = false, _ scene: KeyScene, _ shard: borrowing Shard,
    _ reason: String
  ) throws(StoreError) -> Bool {
    guard let directory = try openKey(scene, shard) else { return false }
    var names = [Layout.metadata(variant)]
    if case .document(let facts)? = scene.metadata[variant]?.reading, !facts.hasBody,
      !wasRemoved || !hasUnknown(scene),
      try !isUsed(facts.digest, scene, directory, except: variant)
    {
      names.append(Layout.body(facts.digest))
    }
    try takeOut(names, wereRemoved: wasRemoved, reason, scene, directory, shard)
    return true
  }

  func note(_ reason: String, _ scene: KeyScene) -> String {
    "\(reason)\nIt came from \(String(decoding: scene.path, as: UTF8.self))\n"
  }

  /// Returns whether an entry refers to a body, or a metadata file does that could be read and
  /// still exists, or perhaps one that could not be read, or beyond the names that were read.
  func isUsed(
    _ digest: Digest, _ scene: KeyScene, _ directory: borrowing Descriptor,
    except variant: UInt64?
  ) throws(StoreError) -> Bool {
    if scene.uncountedNames > 0 || !scene.unreadable.isEmpty { return true }
    if try hasBodyFile(digest, of: scene.hash) { return true }
    for (other, file) in scene.metadata where other != variant {
      if case .document(let facts) = file.reading, facts.digest == digest, !facts.hasBody,
        !fileSystem.isMissing(Layout.metadata(other), in: directory.raw)
      {
        return true
      }
    }
    return false
  }

  func hasBodyFile(_ digest: Digest, of hash: KeyHash) throws(StoreError) -> Bool {
    let slots = catalog.settledSlots(of: hash)
    try catalog.checkReadable()
    return slots.contains { $0.hasBodyFile && $0.digest == digest }
  }

  /// Returns whether the directory of a key has a file that may be the metadata of a body, and
  /// cannot be read or has another name.
  func hasUnknown(_ scene: KeyScene) -> Bool {
    if !scene.strays.isEmpty || scene.uncountedNames > 0 || !scene.unreadable.isEmpty {
      return true
    }
    return scene.metadata.contains { variant, file in
      switch file.reading {
      case .document: false
      case .damaged(let error) where error.isForeign: true
      default: catalog.settledSlot(scene.hash, variant) == nil
      }
    }
  }
}
