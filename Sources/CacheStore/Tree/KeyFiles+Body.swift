internal import CacheFormat
internal import CacheSystem

/// A body in the directory of its key.
struct PlacedBody {
  /// The digest that names the file.
  var digest: Digest
  /// The number of the file. Entries that share the file have the same number.
  var file: UInt64
}

// The body of an entry in the directory of its key.
extension KeyFiles {
  /// Makes sure that the directory has the body: uses an equal file that is there, links the equal
  /// body of another entry, or writes a file.
  ///
  /// An intact file that a current record refers to is never replaced. If another body of the key
  /// has the same digest, this body is stored under its seeded digest.
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

  /// Makes sure that the directory has the body under the name of a digest.
  ///
  /// - Returns: the number of the file; `nil` if another body has that name.
  private mutating func placeBody(
    _ entry: NewEntry, _ before: Before, named digest: Digest
  ) throws(StoreError) -> UInt64? {
    let name = Layout.body(digest)
    let known = before.all.first { $0.hasBodyFile && $0.digest == digest }
    if !isNew {
      switch try standing(name, entry, known) {
      case .equal:
        usesStandingBody = true
        if try writesAnew() {
          try replace(name, with: entry)
          return UInt64(UInt32.random(in: 1 ... .max))
        }
        // The file of an entry that was in the log may not be synced.
        if isSynced { try synchronize(name) }
        return UInt64(known?.bodyFile ?? .random(in: 1 ... .max))
      case .another: return nil
      case .none: break
      }
    }
    if digest == entry.digest, let sharing = before.sharing, try !writesAnew(),
      share(sharing, name, entry)
    {
      if isSynced { try synchronize(name) }
      return UInt64(sharing.slot.bodyFile)
    }
    do throws(SystemError) {
      try write(name, entry)
      madeBody = name
      if case .staged(let file) = entry.body { bodySource = file }
    } catch {
      tree.discard(name, in: directory.raw)
      throw StoreError(error, path: "\(path)/\(name.text)")
    }
    return UInt64(UInt32.random(in: 1 ... .max))
  }

  private func synchronize(_ name: PathName) throws(StoreError) {
    try system("\(path)/\(name.text)") { () throws(SystemError) in
      let file = try files.open(name, in: directory, [.read])
      do throws(SystemError) { try files.synchronize(file, names: false) } catch {
        tree.noteUnsyncedBody()
        throw error
      }
    }
  }

  /// Replaces an equal body that may never reach the disk. The present entry always has one of both,
  /// also if this one cannot be written or the entry is not stored.
  private mutating func replace(_ name: PathName, with entry: NewEntry) throws(StoreError) {
    do throws(SystemError) {
      switch entry.body {
      case .staged(let file):
        try files.rename(file.name, in: file.session.directory.raw, to: name, in: directory.raw)
        bodySource = file
      case .bytes(let bytes):
        let new = session.unusedName()
        try files.writeNew(new, in: session.directory, bytes, synced: isSynced)
        do throws(SystemError) {
          try files.rename(new, in: session.directory.raw, to: name, in: directory.raw)
        } catch {
          try? files.removeFile(new, in: session.directory.raw)
          throw error
        }
      }
    } catch {
      throw StoreError(error, path: "\(path)/\(name.text)")
    }
  }

  private func writesAnew() throws(StoreError) -> Bool {
    guard isSynced else { return false }
    return try system(path) { () throws(SystemError) in try tree.writesBodiesAnew() }
  }

  private func seededDigest(of entry: NewEntry) throws(StoreError) -> Digest {
    switch entry.body {
    case .bytes(let bytes): return Digest(hashing: bytes, seed: tree.hashSeed)
    case .staged(let file):
      return try system(file.content.path) { () throws(SystemError) in
        guard
          let digest = try files.digest(
            of: file.content.file, count: entry.length, seed: tree.hashSeed)
        else { throw .inputOutput }
        return digest
      }
    }
  }

  /// The file that has the name of a new body.
  private enum Standing {
    case none
    /// A file with the same bytes.
    case equal
    /// An intact file of a current record, with other bytes.
    case another
  }

  /// Examines the file that has the name of the body. A file with other bytes is removed if it is
  /// damaged or no record refers to it.
  private func standing(
    _ name: PathName, _ entry: NewEntry, _ known: Slot?
  ) throws(StoreError) -> Standing {
    do throws(SystemError) {
      let file = try files.open(name, in: directory, [.read])
      // A file with a second name that no record of the key has was left by a failure. Nobody knows
      // which entries it counts for, so another one is made.
      if isEqual(file, entry) {
        if known != nil { return .equal }
        if try !files.status(of: file.raw).isLinked { return .equal }
      }
      if let known, try files.status(of: file.raw).length == known.length,
        try files.holdsBody(file, known.digest, count: known.length, hashSeed: tree.hashSeed)
      {
        return .another
      }
    } catch  where error == .notFound { return .none } catch  where error.isWrongKind {
      // It is no regular file, so it is removed.
    } catch {
      // It may be intact. The system cannot open it if, for example, the process has too many open
      // files.
      throw StoreError(error, path: "\(path)/\(name.text)")
    }
    // Readers that have the file open can still read it. A directory is removed only if it is
    // empty.
    if (try? files.removeFile(name, in: directory.raw)) == nil {
      try? files.removeDirectory(name, in: directory.raw)
    }
    return .none
  }

  /// Links the body of another entry. The link is made before the bytes are compared, so that the
  /// file that was compared is the file that is kept.
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
    case .staged(let staged):
      return files.isEqual(file, staged.content.file, count: entry.length)
    }
  }

  private func write(_ name: PathName, _ entry: NewEntry) throws(SystemError) {
    switch entry.body {
    case .bytes(let bytes):
      let file = try create(name)
      try files.write(file, bytes)
      if isSynced { try files.synchronize(file, names: false) }
    case .staged(let file):
      try files.rename(file.name, in: file.session.directory.raw, to: name, in: directory.raw)
    }
  }
}
