internal import CacheFormat
internal import CacheSystem
internal import Synchronization

extension Catalog {
  /// Runs `body` with the directory of a key, which is made if it is missing. What `body` has done there
  /// is undone if it throws or returns `nil`.
  ///
  /// - Returns: `nil` also if all entries were removed meanwhile.
  func withKeyFiles<R>(
    _ hash: KeyHash, _ shard: borrowing Shard, staging session: Session, isKnown: Bool,
    isSynced: Bool = true, _ body: (inout KeyFiles) throws(StoreError) -> R?
  ) throws(StoreError) -> R? {
    do throws(StoreError) {
      var keyFiles = try KeyFiles(
        tree, shard, hash, staging: session, isKnown: isKnown, isSynced: isSynced)
      do throws(StoreError) {
        if let result = try body(&keyFiles) { return result }
      } catch {
        keyFiles.undo()
        throw error
      }
      keyFiles.undo()
    } catch {
      if !isRemoval(error, of: shard.entries) { throw error }
    }
    return nil
  }
}

/// The directory of one key while it is being changed, under the lock of its shard.
///
/// Keeps track of the files that it makes, so that a failed operation leaves nothing (`undo`).
struct KeyFiles: ~Copyable {
  let tree: Tree
  let hash: KeyHash
  let directory: Descriptor
  /// Whether the files are synced, so that the record need not carry the body.
  let isSynced: Bool
  private let shard: Int32
  /// The session with the files that have not got their names yet.
  let session: Session
  var isNew: Bool
  var madeBody: PathName?
  /// The file in staging that became the body.
  var bodySource: StagedFile?
  /// Whether the body is a file that was there. Its name may not be on disk yet.
  var usesStandingBody = false
  private var madeMetadata: PathName?
  /// A new metadata file: its name in staging, and the name that it will get.
  private var staged: (from: PathName, to: PathName)?

  var files: any FileSystem { tree.fileSystem }
  var path: String { "\(tree.path)/entries/\(Layout.keyPath(hash).text)" }

  init(
    _ tree: Tree, _ shard: borrowing Shard, _ hash: KeyHash, staging session: Session,
    isKnown: Bool, isSynced: Bool = true
  ) throws(StoreError) {
    let name = Layout.key(hash)
    let path = "\(tree.path)/entries/\(Layout.keyPath(hash).text)"
    // A key in the index has a directory, unless somebody removed it.
    let isThere =
      isKnown && (try? tree.fileSystem.status(at: name, in: shard.directory.raw)) != nil
    let isNew = isThere ? false : try Self.make(tree, shard, name, path)
    do throws(StoreError) {
      directory = try Self.open(tree, shard, name, path)
    } catch {
      if isNew { tree.discardDirectory(name, in: shard.directory.raw) }
      throw error
    }
    self.tree = tree
    self.session = session
    self.isSynced = isSynced && tree.durability == .full
    self.hash = hash
    self.shard = shard.directory.raw
    self.isNew = isNew
  }

  /// Makes the directory of a key.
  ///
  /// - Returns: false if there is one already, left by a process that was killed.
  private static func make(
    _ tree: Tree, _ shard: borrowing Shard, _ name: PathName, _ path: String
  ) throws(StoreError) -> Bool {
    try system(path) { () throws(SystemError) -> Bool in
      try StorePlace.makeDirectory(name, shard.directory, tree.fileSystem)
    }
  }

  private static func open(
    _ tree: Tree, _ shard: borrowing Shard, _ name: PathName, _ path: String
  ) throws(StoreError) -> Descriptor {
    do throws(SystemError) {
      return try tree.fileSystem.open(name, in: shard.directory, [.read, .directory])
    } catch  where error.isWrongKind {
      // A link or a file has the name of the directory. The store has not made it, so it is
      // removed.
      return try system(path) { () throws(SystemError) in
        try tree.fileSystem.removeFile(name, in: shard.directory.raw)
        try tree.fileSystem.makeDirectory(
          name, in: shard.directory.raw, mode: StorePlace.directoryMode)
        return try tree.fileSystem.open(name, in: shard.directory, [.read, .directory])
      }
    } catch {
      throw StoreError(error, path: path)
    }
  }

  // MARK: The metadata

  func create(_ name: PathName) throws(SystemError) -> Descriptor {
    do throws(SystemError) {
      return try files.open(name, in: directory, [.write, .create, .exclusive])
    } catch  where error == .exists {
      // A directory is removed only if it is empty.
      if (try? files.removeFile(name, in: directory.raw)) == nil {
        try files.removeDirectory(name, in: directory.raw)
      }
      return try files.open(name, in: directory, [.write, .create, .exclusive])
    }
  }

  /// Writes the metadata file: directly if the entry is new, otherwise into staging. `finish`
  /// renames it after the journal has the record, so that a file that is newer than the record of its
  /// entry shows that a record is lost.
  ///
  /// The file is not synced, because the record in the journal has the same content, and is synced
  /// if the store survives a loss of power. Then the file is written again from the record.
  mutating func placeMetadata(
    _ document: [UInt8], _ variant: UInt64, replacing: Bool
  ) throws(StoreError) {
    let name = Layout.metadata(variant)
    do throws(SystemError) {
      if replacing {
        let from = session.unusedName()
        staged = (from, name)
        let file = try files.open(
          from, in: session.directory, [.write, .create, .exclusive])
        try files.write(file, document)
      } else {
        let file = try create(name)
        madeMetadata = name
        try files.write(file, document)
      }
    } catch {
      throw StoreError(error, path: "\(path)/\(name.text)")
    }
  }

  /// Syncs the directories, so that the names that the record relies on survive a loss of power. That of
  /// the key may have been made by a process that was killed, or does not sync.
  func synchronize(_ shard: borrowing Shard) throws(StoreError) {
    guard isSynced, madeBody != nil || madeMetadata != nil || usesStandingBody else { return }
    do throws(SystemError) {
      try files.synchronize(directory, names: true)
      try files.synchronize(shard.directory, names: true)
      // Nobody removes a shard, so its name is synced once.
      let number = Layout.shardNumber(of: hash)
      let shards = shard.entries
      if shards.durableShards.withLock({ $0.contains(number) }) { return }
      try files.synchronize(shards.directory, names: true)
      shards.durableShards.withLock { _ = $0.insert(number) }
    } catch {
      throw StoreError(error, path: path)
    }
  }

  // MARK: The end

  /// Renames the metadata file, and removes the files that the new entry replaces. Called after the
  /// journal has the record.
  ///
  /// - Returns: whether the metadata file has its name.
  mutating func finish(_ before: Before, _ digest: Digest) -> Bool {
    let isNamed = finishMetadata()
    for slot in before.surplus where !slot.isUnsettled {
      tree.discard(Layout.metadata(slot.variant), in: directory.raw)
    }
    let kept = before.others.filter { other in
      other.hasBodyFile && !before.surplus.contains { $0.variant == other.variant }
    }
    for gone in before.doomed
    where gone.hasBodyFile && gone.digest != digest
      && !kept.contains(where: { $0.digest == gone.digest })
    {
      tree.discard(Layout.body(gone.digest), in: directory.raw)
    }
    return isNamed
  }

  /// Renames a metadata file from staging to its name.
  ///
  /// - Returns: whether it has its name. If not, the journal still has the entry, and the caller
  ///   asks the upkeep to write the file again.
  mutating func finishMetadata() -> Bool {
    guard let staged else { return true }
    self.staged = nil
    do throws(SystemError) {
      try files.rename(
        staged.from, in: session.directory.raw, to: staged.to, in: directory.raw)
      return true
    } catch {
      try? files.removeFile(staged.from, in: session.directory.raw)
      return false
    }
  }

  /// Makes `undo` keep the files, because the journal has the record.
  mutating func keep() { (madeBody, bodySource, madeMetadata, isNew) = (nil, nil, nil, false) }

  /// Removes the files that were made and that no record refers to. A body that was moved from staging
  /// is moved back, so that the caller can try again.
  mutating func undo() {
    if let staged { try? files.removeFile(staged.from, in: session.directory.raw) }
    if let madeMetadata { tree.discard(madeMetadata, in: directory.raw) }
    if let madeBody {
      if !moveBack(madeBody) { tree.discard(madeBody, in: directory.raw) }
    } else if let bodySource {
      // It has replaced an equal body, and stays.
      try? copyBack(bodySource)
    }
    if isNew { tree.discardDirectory(Layout.key(hash), in: shard) }
    (staged, madeMetadata, madeBody, bodySource) = (nil, nil, nil, nil)
  }

  private func moveBack(_ body: PathName) -> Bool {
    guard let bodySource else { return false }
    do throws(SystemError) {
      try files.rename(
        body, in: directory.raw, to: bodySource.name, in: bodySource.session.directory.raw)
      return true
    } catch {
      // Another process has removed all entries, and this file with them.
      try? copyBack(bodySource)
      return false
    }
  }

  private func copyBack(_ source: StagedFile) throws(SystemError) {
    let copy = try files.open(
      source.name, in: source.session.directory, [.write, .create, .exclusive])
    do throws(SystemError) {
      let length = try files.status(of: source.content.file.raw).length
      try files.readPieces(of: source.content.file, count: length) {
        piece, offset throws(SystemError) in try files.write(copy, piece, at: offset)
      }
      if isSynced { try files.synchronize(copy, names: false) }
    } catch {
      try? files.removeFile(source.name, in: source.session.directory.raw)
      throw error
    }
  }
}
