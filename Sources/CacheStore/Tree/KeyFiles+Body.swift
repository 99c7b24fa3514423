internal import CacheFormat
internal import CacheSystem

/// A body in the directory of its key.
struct PlacedBody {
  /// The digest that names the file.
  var digest: Digest
  /// The number of the file, which entries that share it have in common.
  var file: UInt64
}

// The body of an entry in the directory of its key.
extension KeyFiles {
  /// Puts the body into the directory: the one that is there, a link to an equal one, or a file.
  ///
  /// A file that a current record refers to is never replaced. If another body of the key has the
  /// digest of this one, this one is stored under its seeded digest.
  ///
  mutating func placeBody(
    _ entry: NewEntry, _ before: Before
  ) throws(StoreError) -> PlacedBody {
    if let file = try placeBody(entry, before, named: entry.digest) {
      return PlacedBody(digest: entry.digest, file: file)
    }
    let seeded = try seededDigest(of: entry)
    if let file = try placeBody(entry, before, named: seeded) {
      return PlacedBody(digest: seeded, file: file)
    }
    throw StoreError(
      .inputOutput, path: "\(path)/\(Layout.body(seeded).text)",
      cause: "another body of the key has the same digest",
      remedy: "remove the entries of the key first")
  }

  /// - Returns: nil if another body has that name.
  private mutating func placeBody(
    _ entry: NewEntry, _ before: Before, named digest: Digest
  ) throws(StoreError) -> UInt64? {
    let name = Layout.body(digest)
    let known = before.all.first { $0.digest == digest }
    if !isNew {
      switch try standing(name, entry, known) {
      case .equal: return UInt64(known?.bodyFile ?? .random(in: 1 ... .max))
      case .another: return nil
      case .none: break
      }
    }
    if digest == entry.digest, let sharing = before.sharing, share(sharing, name, entry) {
      return UInt64(sharing.slot.bodyFile)
    }
    do throws(SystemError) {
      try write(name, entry)
      madeBody = name
    } catch {
      tree.discard(name, in: directory.raw)
      throw StoreError(error, path: "\(path)/\(name.text)")
    }
    return UInt64(UInt32.random(in: 1 ... .max))
  }

  private func seededDigest(of entry: NewEntry) throws(StoreError) -> Digest {
    switch entry.body {
    case .bytes(let bytes): return Digest(hashing: bytes, seed: tree.hashSeed)
    case .staged(let name, let session):
      return try system("\(tree.path)/staging/\(session.name.text)/\(name.text)") {
        () throws(SystemError) in
        let file = try files.open(name, in: session.directory, [.read])
        guard
          let digest = try files.digest(of: file, count: entry.length, seed: tree.hashSeed)
        else { throw .inputOutput }
        return digest
      }
    }
  }

  /// What has the name of a body that is to be stored.
  private enum Standing {
    case none
    /// The same bytes.
    case equal
    /// The body of a current record, whole, with other bytes.
    case another
  }

  /// Looks at the file that has the name of the body. It is removed if no record refers to it, or if
  /// it is damaged, so that no record can be answered with it.
  private func standing(
    _ name: PathName, _ entry: NewEntry, _ known: Slot?
  ) throws(StoreError) -> Standing {
    do throws(SystemError) {
      let file = try files.open(name, in: directory, [.read])
      if isEqual(file, entry) { return .equal }
      if let known, try files.status(of: file.raw).length == known.length,
        try files.holdsBody(file, known.digest, count: known.length, hashSeed: tree.hashSeed)
      {
        return .another
      }
    } catch  where error == .notFound { return .none } catch  where error.isWrongKind {
      // What stands there is no body; it goes.
    } catch {
      // It may be whole: without descriptors, for example, nobody can tell.
      throw StoreError(error, path: "\(path)/\(name.text)")
    }
    // Readers that have it open keep it. A directory of that name goes only if it is empty.
    if (try? files.removeFile(name, in: directory.raw)) == nil {
      try? files.removeDirectory(name, in: directory.raw)
    }
    return .none
  }

  /// Links to the body of another entry. The link is made first and compared then, so that what is
  /// compared is what is kept.
  private mutating func share(
    _ sharing: Located, _ name: PathName, _ entry: NewEntry
  ) -> Bool {
    guard sharing.slot.keyHash != hash,
      let other = try? files.open(
        Layout.keyPath(sharing.slot.keyHash), in: sharing.entries.directory, [.read, .directory]),
      (try? files.link(name, in: other.raw, to: name, in: directory.raw)) != nil
    else { return false }
    if let file = try? files.open(name, in: directory, [.read]), isEqual(file, entry) {
      madeBody = name
      return true
    }
    tree.discard(name, in: directory.raw)
    return false
  }

  private func isEqual(_ file: borrowing Descriptor, _ entry: NewEntry) -> Bool {
    guard let status = try? files.status(of: file.raw), status.kind == .file,
      status.length == entry.length
    else { return false }
    switch entry.body {
    case .bytes(let bytes):
      return files.isEqual(file, bytes)
    case .staged(let name, let session):
      guard let staged = try? files.open(name, in: session.directory, [.read])
      else { return false }
      return files.isEqual(file, staged, count: entry.length)
    }
  }

  private func write(_ name: PathName, _ entry: NewEntry) throws(SystemError) {
    switch entry.body {
    case .bytes(let bytes):
      let file = try create(name)
      try files.write(file, bytes)
      if tree.durability == .full { try files.synchronize(file, names: false) }
    case .staged(let staged, let session):
      try files.rename(staged, in: session.directory.raw, to: name, in: directory.raw)
    }
  }
}
