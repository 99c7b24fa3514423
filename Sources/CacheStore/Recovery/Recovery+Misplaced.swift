internal import CacheFormat
internal import CacheSystem

// Files of other entries, which somebody has put into the directory of a key.
extension Recovery {
  /// Moves the files of other entries, which somebody has put into a key's directory, into one of their
  /// own beside it, where a repair finds them: they may be all that is left of these entries. If the
  /// journal is not whole, they stay where no entry needs their place. The caller holds the shard.
  ///
  /// - Returns: whether there are such files.
  func moveMisplaced(
    _ found: Set<Layout.KeyFile>, of hash: KeyHash, in directory: borrowing Descriptor,
    _ shard: borrowing Shard, isWhole: Bool
  ) throws(StoreError) -> Bool {
    let slots = catalog.slots(of: hash)
    var hasMisplaced = false
    for case .metadata(let variant) in found {
      guard let document = try? tree.document(Layout.metadata(variant), in: directory),
        !tree.isPlaced(document, hash, variant)
      else { continue }
      hasMisplaced = true
      guard isWhole || slots.contains(where: { $0.variant == variant }) else { continue }
      let hasBody = document.body == nil && found.contains(.body(document.entry.digest))
      let name = Layout.misplaced(from: hash)
      try copyAside(document, variant, hasBody: hasBody, in: directory, name, of: hash, shard)
      do throws(SystemError) {
        try fileSystem.removeFile(Layout.metadata(variant), in: directory.raw)
      } catch {
        // Otherwise each comparison would make another copy.
        tree.staging.removeKeyDirectory(name, in: shard.directory)
        throw StoreError(error, path: "\(path)/entries/\(Layout.keyPath(hash).text)")
      }
    }
    return hasMisplaced
  }

  /// Links the files of an entry, or copies them, from the directory of another key into one of their own
  /// beside it. That has its name once it is complete, so that it is found whole after a kill. The caller
  /// holds the shard.
  package func copyAside(
    _ document: MetadataDocument, _ variant: UInt64, hasBody: Bool,
    in directory: borrowing Descriptor, _ name: PathName, of hash: KeyHash,
    _ shard: borrowing Shard
  ) throws(StoreError) {
    let session = try writer.ownSession()
    let new = Layout.replaced(hash, session.unusedNumber())
    try system("\(path)/entries/\(Layout.keyPath(hash).text)") { () throws(SystemError) in
      try fileSystem.makeDirectory(
        new, in: session.directory.raw, mode: StorePlace.directoryMode)
      do throws(SystemError) {
        let target = try fileSystem.open(new, in: session.directory, [.read, .directory])
        let body = Layout.body(document.entry.digest)
        if hasBody { try fileSystem.linkOrCopy(body, in: directory, to: body, in: target) }
        try fileSystem.linkOrCopy(
          Layout.metadata(variant), in: directory,
          to: Layout.metadata(document.entry.variant), in: target)
        try fileSystem.rename(new, in: session.directory.raw, to: name, in: shard.directory.raw)
      } catch {
        tree.staging.removeKeyDirectory(new, in: session.directory)
        throw error
      }
    }
  }
}

extension FileSystem {
  /// Gives a file a second name in another directory. Where there are no hard links, copies it.
  fileprivate func linkOrCopy(
    _ name: PathName, in source: borrowing Descriptor, to new: PathName,
    in target: borrowing Descriptor
  ) throws(SystemError) {
    do throws(SystemError) {
      return try link(name, in: source.raw, to: new, in: target.raw)
    } catch {
      guard error.isNoLink else { throw error }
    }
    let file = try open(name, in: source, [.read])
    let copy = try open(new, in: target, [.write, .create, .exclusive])
    let length = try status(of: file.raw).length
    let isWhole = try readPieces(of: file, count: length) { piece, offset throws(SystemError) in
      try write(copy, piece, at: offset)
    }
    if !isWhole { throw .inputOutput }
    // Nobody else has these bytes once the file is removed.
    try synchronize(copy, names: false)
  }
}
