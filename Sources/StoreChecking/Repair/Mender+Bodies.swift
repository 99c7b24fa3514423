internal import CacheFormat
internal import CacheStore
internal import CacheSystem

// Repairs of bodies.
extension Mender {
  /// Repairs a missing or damaged body: recovers it, or sets its entries aside. A safe repair does
  /// only the first.
  func mendBodies(
    _ suspicion: Suspicion, _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot else {
      if !givesUp { return false }
      // The body of an entry without a record. If the journal is whole, it was never promised.
      guard let variant = suspicion.variant, !journalDecides else { return false }
      return try takeOut(variant, scene, shard, "\(suspicion.detail).")
    }
    guard let directory = try openKey(scene, shard) else {
      return try mendMissing(slot, scene, shard)
    }
    // Variants with equal bodies share the file and the finding.
    if try recover(slot, in: directory, scene) { return true }
    if suspicion.kind == .bodyLong, try keepBeginning(slot, in: directory, scene) { return true }
    if !givesUp { return false }
    for other in catalog.settledSlots(of: scene.hash)
    where other.hasBodyFile && other.digest == slot.digest {
      try setAside(other, shard)
    }
    return true
  }

  /// Removes an entry that only the journal has. Its bytes are copied into the quarantine.
  func mendLogged(_ slot: Slot, _ suspicion: Suspicion) -> MendAttempt {
    if !level.reaches(suspicion.kind) { return .none }
    recovery.setAside(slot, butNot: .none)
    let isLeft = catalog.slot(slot.keyHash, slot.variant)?.isSameRecord(as: slot) == true
    if !isLeft, (try? catalog.checkReadable()) != nil { return .done }
    pass.hasFailed.set()
    return .failed("its record could not be removed")
  }

  /// Moves the remaining files of an entry to the quarantine, and then appends its remove record.
  /// In this order, a kill in between leaves an entry without files, and never files without a
  /// record.
  func setAside(_ slot: Slot, _ shard: borrowing Shard) throws(StoreError) {
    try recovery.quarantine(slot, in: shard)
    _ = try recovery.release(slot, shard.entries)
  }

  /// Recovers a body from the record of its entry, or from another entry that had the same body file.
  func recover(
    _ slot: Slot, in directory: borrowing Descriptor, _ scene: KeyScene
  ) throws(StoreError) -> Bool {
    // The caller writes the metadata file, and the body with it.
    if slot.isEmbedded { return try catalog.carriedBody(of: slot) != nil }
    let name = Layout.body(slot.digest)
    if try isWhole(name, in: directory, slot.digest, length: slot.length) { return true }
    if let body = try catalog.carriedBody(of: slot) {
      try write(body, to: name, in: directory, scene.path(name))
      return true
    }
    let entries = catalog.entriesDirectory
    return try store.findShared(slot) { path throws(StoreError) in
      let session = try catalog.writer.ownSession()
      let new = session.unusedName()
      defer { try? fileSystem.removeFile(new, in: session.directory.raw) }
      // The link is made first, so that the file that is hashed is the file that is kept.
      let full = Layout.entries.bytes + [UInt8(ascii: "/")] + path.bytes
      guard try link(path, in: entries.directory.raw, to: new, of: session, full),
        try isWhole(new, in: session.directory, slot.digest, length: slot.length)
      else { return false }
      try rename(new, of: session, to: name, in: directory, scene.path(name))
      return true
    }
  }

  /// Writes the body in a metadata file to the body file of an entry that has one, unless that is whole. It
  /// has its name on disk before the metadata file is replaced.
  ///
  /// - Returns: false if there was nothing to do.
  func writeBody(
    of document: MetadataDocument, _ slot: Slot, in directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) -> Bool {
    let entry = document.entry
    guard slot.hasBodyFile, let body = document.body, slot.digest == entry.digest,
      slot.length == entry.length, try !isWhole(entry, in: directory)
    else { return false }
    try write(body, to: Layout.body(slot.digest), in: directory, path)
    try guarded(path) { () throws(SystemError) in
      try fileSystem.synchronize(directory, names: true)
    }
    return true
  }

  func write(
    _ body: [UInt8], to name: PathName, in directory: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) {
    let session = try catalog.writer.ownSession()
    let new = session.unusedName()
    try guarded(path) { () throws(SystemError) in
      try fileSystem.writeNew(new, in: session.directory, body, synced: true)
    }
    try rename(new, of: session, to: name, in: directory, path)
  }

  /// Links a file into the session's directory.
  ///
  /// - Returns: false if it is gone, or no hard link is possible.
  func link(
    _ name: PathName, in directory: Int32, to new: PathName, of session: Session, _ path: [UInt8]
  ) throws(StoreError) -> Bool {
    try guarded(path) { () throws(SystemError) in
      do throws(SystemError) {
        try fileSystem.link(name, in: directory, to: new, in: session.directory.raw)
        return true
      } catch  where error == .notFound || error.isNoLink { return false }
    }
  }

  /// Renames a file of the session's directory to a name of the key's directory.
  func rename(
    _ new: PathName, of session: Session, to name: PathName, in directory: borrowing Descriptor,
    _ path: [UInt8]
  ) throws(StoreError) {
    let raw = directory.raw
    try guarded(path) { () throws(SystemError) in
      // A rename between two names of the same file does nothing, and leaves both (rename(2)).
      defer { try? fileSystem.removeFile(new, in: session.directory.raw) }
      try fileSystem.rename(new, in: session.directory.raw, to: name, in: raw)
    }
  }

  /// Keeps the beginning of a body that is too long, if that has the right digest.
  private func keepBeginning(
    _ slot: Slot, in directory: borrowing Descriptor, _ scene: KeyScene
  ) throws(StoreError) -> Bool {
    let name = Layout.body(slot.digest)
    let session = try catalog.writer.ownSession()
    let new = session.unusedName()
    let isRight = try guarded(scene.path(name)) { () throws(SystemError) in
      let file = try fileSystem.open(name, in: directory, [.read])
      // The file is read twice, so that nothing is written if the digest is wrong.
      guard try fileSystem.status(of: file.raw).kind == .file,
        try fileSystem.holdsBody(
          file, slot.digest, count: slot.length, hashSeed: store.hashSeed)
      else { return false }
      return try copy(file, count: slot.length, to: new, session, slot.digest)
    }
    guard isRight else { return false }
    try rename(new, of: session, to: name, in: directory, scene.path(name))
    return true
  }

  /// Replaces a file of a key that has a second name (a hard link) by a copy with the right mode.
  /// The other name may be somebody else's.
  func detach(
    _ name: PathName, in directory: borrowing Descriptor, _ scene: KeyScene
  ) throws(StoreError) {
    let session = try catalog.writer.ownSession()
    let new = session.unusedName()
    try copy(name, of: directory, to: new, session, scene.path(name))
    try rename(new, of: session, to: name, in: directory, scene.path(name))
  }

  /// Copies a file into the session's directory.
  func copy(
    _ name: PathName, of directory: borrowing Descriptor, to new: PathName, _ session: Session,
    _ path: [UInt8]
  ) throws(StoreError) {
    let isSame = try guarded(path) { () throws(SystemError) in
      let file = try fileSystem.open(name, in: directory, [.read])
      let length = try fileSystem.status(of: file.raw).length
      guard let digest = try fileSystem.digest(of: file, count: length) else { return false }
      return try copy(file, count: length, to: new, session, digest)
    }
    if isSame { return }
    throw StoreError(
      .inputOutput, path: "\(store.path)/\(String(decoding: path, as: UTF8.self))",
      cause: "it changes while it is copied", remedy: "check again")
  }

  /// Copies the first bytes of a file into the session's directory.
  ///
  /// - Returns: whether the copy has the digest. If not, it is removed.
  private func copy(
    _ file: borrowing Descriptor, count: UInt64, to name: PathName, _ session: Session,
    _ digest: Digest
  ) throws(SystemError) -> Bool {
    let copy = try fileSystem.open(name, in: session.directory, [.write, .create, .exclusive])
    var isWhole = false
    defer { if !isWhole { try? fileSystem.removeFile(name, in: session.directory.raw) } }
    let isRight = try fileSystem.holdsBody(
      file, digest, count: count, hashSeed: store.hashSeed
    ) { piece, offset throws(SystemError) in
      try fileSystem.write(copy, piece, at: offset)
    }
    // The copy will replace the only file with these bytes.
    if isRight { try fileSystem.synchronize(copy, names: true) }
    isWhole = isRight
    return isRight
  }

  /// Returns whether a file has exactly the body with a digest and a length.
  func isWhole(
    _ name: PathName, in directory: borrowing Descriptor, _ digest: Digest, length: UInt64
  ) throws(StoreError) -> Bool {
    try guarded(name.bytes) { () throws(SystemError) in
      try store.hasBody(name, in: directory, digest, length: length)
    }
  }

  /// Replaces a body by a link to the file that it should share according to the records. If that
  /// is not possible, corrects the record.
  func share(
    _ suspicion: Suspicion, _ slot: Slot?, _ scene: KeyScene, _ shard: borrowing Shard
  ) throws(StoreError) -> Bool {
    guard let slot, let other = scene.unshared[slot.variant],
      let directory = try openKey(scene, shard),
      let path = PathName(bytes: other.dropFirst(Layout.entries.count + 1))
    else { return false }
    let name = Layout.body(slot.digest)
    let entries = catalog.entriesDirectory
    let session = try catalog.writer.ownSession()
    let new = session.unusedName()
    defer { try? fileSystem.removeFile(new, in: session.directory.raw) }
    let raw = entries.directory.raw
    let isLinked = try link(path, in: raw, to: new, of: session, suspicion.path)
    let isEqual = try guarded(suspicion.path) { () throws(SystemError) in
      if !isLinked { return false }
      let mine = try fileSystem.open(name, in: directory, [.read])
      let theirs = try fileSystem.open(new, in: session.directory, [.read])
      let lengths = try [fileSystem.status(of: mine.raw), fileSystem.status(of: theirs.raw)]
      return lengths.allSatisfy { $0.length == slot.length }
        && fileSystem.isEqual(mine, theirs, count: slot.length)
    }
    if isEqual {
      try rename(new, of: session, to: name, in: directory, scene.path(name))
      return true
    }
    let isOtherWhole = try isWhole(new, in: session.directory, slot.digest, length: slot.length)
    // A wrong body can be recovered from those that share it, as long as the records say who they are:
    // this one now, the other one by a deep check.
    guard try isWhole(name, in: directory, slot.digest, length: slot.length) else {
      return try recover(slot, in: directory, scene)
    }
    return isOtherWhole ? try recovery.recordAgain(slot, ownsBody: true) : false
  }
}
