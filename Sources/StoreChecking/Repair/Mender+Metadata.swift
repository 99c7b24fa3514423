internal import CacheFormat
internal import CacheStore
internal import CacheSystem

// Entries and their metadata files.
extension Mender {
  /// An entry whose files are all gone: made again where another one has its body, otherwise given up.
  func mendMissing(
    _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot else { return false }
    if !store.sharers(of: slot, most: 1).isEmpty {
      let directory = try makeKey(scene, shard)
      if try recover(slot, in: directory, scene) {
        try store.writeMetadata(of: slot, in: directory, shard.entries)
        return true
      }
    }
    defer { _ = try? removeDirectory(scene, shard) }
    return try store.release(slot, shard.entries)
  }

  /// Files that the journal does not know.
  func mendUnrecorded(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let variant = suspicion.variant, store.slot(scene.hash, variant) == nil,
      let directory = try openKey(scene, shard)
    else { return false }
    if !journalDecides {
      if try store.takeUp(scene.hash, variant, shard.entries) { return true }
      // Its body is not there, or not whole: damage, and no leftover.
      guard level == .all else { return false }
      return try quarantine(variant, scene, shard, "its body was missing, or too short or long.")
    }
    var files = [Layout.metadata(variant)]
    if case .document(let facts)? = scene.metadata[variant]?.reading,
      !isUsed(facts.digest, scene, except: variant)
    {
      files.append(Layout.body(facts.digest))
    }
    try guarded(suspicion.path) { () throws(SystemError) in
      for file in files {
        do throws(SystemError) {
          try fileSystem.removeFile(file, in: directory.raw)
        } catch  where error == .notFound || error.isWrongKind {}
      }
    }
    return true
  }

  /// A whole entry that was given up.
  func takeUpAgain(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let variant = suspicion.variant, store.slot(scene.hash, variant) == nil,
      case .document(let facts)? = scene.metadata[variant]?.reading,
      let directory = try openKey(scene, shard)
    else { return false }
    var slot = Slot()
    slot.digest = facts.digest
    slot.length = facts.length
    if try isWhole(Layout.body(facts.digest), in: directory, slot) {
      return try store.takeUp(scene.hash, variant, shard.entries)
    }
    guard level == .all else { return false }
    return try quarantine(variant, scene, shard, "it was given up, and its body is damaged.")
  }

  /// Files of an entry that neither the journal nor a crash explains.
  func mendUnexplained(
    _ suspicion: Suspicion, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let variant = suspicion.variant, store.slot(scene.hash, variant) == nil
    else { return false }
    return try quarantine(
      variant, scene, shard, "the journal does not know it, and no crash has left it.")
  }

  /// A metadata file that is damaged, or of something else.
  ///
  /// - Parameter keepsBodies: whether it may be that of a body beside it that nothing else names.
  func mendMetadata(
    _ suspicion: Suspicion, _ slot: Slot?, keepsBodies: Bool, _ scene: KeyScene,
    _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let name = suspicion.name else { return false }
    if let slot, keepsBodies { return try writeMetadata(slot, scene, shard) }
    var names = [name]
    if keepsBodies {
      names += scene.bodies.keys.filter { !isUsed($0, scene, except: nil) }.map(Layout.body)
    }
    try store.quarantine(
      names, of: scene.hash, in: shard, note: note("\(suspicion.detail).", scene))
    if let slot { return try writeMetadata(slot, scene, shard) }
    return true
  }

  /// Writes a metadata file from the journal's record.
  func writeMetadata(
    _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot, let directory = try openKey(scene, shard) else { return false }
    try store.writeMetadata(of: slot, in: directory, shard.entries)
    return true
  }

  /// A metadata file that says something else than the journal: which of them is right depends on
  /// whether the journal is whole.
  func mendDiffering(
    _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot, let directory = try openKey(scene, shard) else { return false }
    if !journalDecides, try store.takeUpNewer(slot, in: directory, shard.entries) { return true }
    try store.writeMetadata(of: slot, in: directory, shard.entries)
    return true
  }

  /// Writes a record with the bytes that the metadata file really takes.
  func mendUsage(
    _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot, let directory = try openKey(scene, shard) else { return false }
    let name = Layout.metadata(slot.variant)
    let length = try guarded(scene.path(name)) { () throws(SystemError) in
      try fileSystem.status(at: name, in: directory.raw).length
    }
    return try store.recordAgain(
      slot, overhead: store.overhead(Int(min(length, UInt64(MetadataDocument.maximumBytes)))))
  }

  /// Moves a variant that the journal does not know into the quarantine.
  func quarantine(
    _ variant: UInt64, _ scene: KeyScene, _ shard: borrowing Shard, _ reason: String
  ) throws(StoreError) -> Bool {
    var names = [Layout.metadata(variant)]
    if case .document(let facts)? = scene.metadata[variant]?.reading,
      !isUsed(facts.digest, scene, except: variant)
    {
      names.append(Layout.body(facts.digest))
    }
    try store.quarantine(names, of: scene.hash, in: shard, note: note(reason, scene))
    return true
  }

  func note(_ reason: String, _ scene: KeyScene) -> String {
    "\(reason)\nIt came from \(String(decoding: scene.path, as: UTF8.self))\n"
  }

  /// Whether an entry has a body, or may have it by a metadata file that could be read.
  func isUsed(_ digest: Digest, _ scene: KeyScene, except variant: UInt64?) -> Bool {
    if store.slots(of: scene.hash).contains(where: { $0.digest == digest }) { return true }
    return scene.metadata.contains { other, file in
      guard other != variant, case .document(let facts) = file.reading else { return false }
      return facts.digest == digest
    }
  }

  /// What the moving of names may have left: entries that lack a file which can be made again.
  func tidy(_ scene: KeyScene, _ shard: borrowing Shard) -> MendAttempt {
    do throws(StoreError) {
      let slots = store.slots(of: scene.hash)
      if slots.isEmpty { return try removeDirectory(scene, shard) ? .done : .none }
      guard let directory = try openKey(scene, shard) else {
        guard level == .all else { return .none }
        for slot in slots { _ = try mendMissing(slot, scene, shard) }
        return .done
      }
      for slot in slots {
        if isAbsent(Layout.body(slot.digest), directory), try !recover(slot, in: directory, scene) {
          if level == .all { try setAside(slot, shard) }
        } else if isAbsent(Layout.metadata(slot.variant), directory) {
          try store.writeMetadata(of: slot, in: directory, shard.entries)
        }
      }
      return .done
    } catch {
      return .failed("\(error.cause); \(error.remedy)")
    }
  }

  private func isAbsent(_ name: PathName, _ directory: borrowing Descriptor) -> Bool {
    do throws(SystemError) {
      _ = try fileSystem.status(at: name, in: directory.raw)
      return false
    } catch { return error == .notFound }
  }
}
