package import CacheFormat
package import CacheSystem

// store.json: read, made, or restored from the journal and the tree.
extension StorePlace {
  static func readOrMakeDescription(
    _ root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) -> StoreDescription {
    let files = options.fileSystem
    var unreadable: StoreError?
    var (present, other): (StoreDescription?, StoreDescription?)
    var status: FileStatus?
    let bytes = try descriptionBytes(root, path, files, &status, &unreadable)
    if let bytes {
      do throws(FormatError) { present = try StoreDescription(decoding: bytes) } catch
        where error.code == .newerFormat
      {
        throw .newerFormat("\(path)/store.json", error.detail)
      } catch {
        // Damaged: restored below.
      }
    }
    if let bytes, let present {
      other = contradiction(of: present, root, files, options.clock)
      if other == nil {
        if status?.isLinked == true { try detachDescription(bytes, root, path, options) }
        return present
      }
    }
    let restored = other ?? restorable(root, files, options.clock)
    // store.json may be intact, and the other files unreadable for the same reason. With a new seed
    // no entry could be found.
    if restored == nil, let unreadable { throw unreadable }
    // No file has the old seed, so a new one contradicts nothing.
    let description = restored ?? newDescription(options.clock)
    try put(description, insteadOfForeign: other != nil, root, path, options)
    return description
  }

  /// Writes store.json, and moves away a file or directory with that name.
  ///
  /// - Parameter insteadOfForeign: whether the present store.json is that of another store. It is
  ///   moved to the quarantine, because it may be needed there.
  private static func put(
    _ description: StoreDescription, insteadOfForeign isForeign: Bool,
    _ root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) {
    if options.isReadOnly { return }
    try system("\(path)/store.json") { () throws(SystemError) in
      try setAsideUnlessFile(Layout.description, root, options)
      let strays = StrayQuarantine(options.fileSystem, options.clock)
      if isForeign { try setAside(Layout.description, root, strays) }
      try write(description, root, strays, synced: options.durability == .full)
    }
  }

  /// Replaces a store.json that has a second name (a hard link) by a copy, because the other name
  /// may be somebody else's.
  private static func detachDescription(
    _ bytes: [UInt8], _ root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) {
    if options.isReadOnly { return }
    try system("\(path)/store.json") { () throws(SystemError) in
      _ = try replace(
        Layout.description, with: bytes, root,
        StrayQuarantine(options.fileSystem, options.clock), synced: options.durability == .full)
    }
  }

  /// Returns a description for a new store.
  package static func newDescription(_ clock: any WallClock) -> StoreDescription {
    StoreDescription(
      id: randomID(), hashSeed: .random(in: .min ... .max),
      created: Timestamp(nanoseconds: clock.now()))
  }

  static func randomID() -> StoreDescription.ID {
    .init(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
  }

  /// Returns the bytes of store.json; `nil` if it is missing or no readable file.
  ///
  /// - Parameter unreadable: set if the system cannot read the file, which may be intact.
  private static func descriptionBytes(
    _ root: borrowing Descriptor, _ path: String, _ files: any FileSystem,
    _ status: inout FileStatus?, _ unreadable: inout StoreError?
  ) throws(StoreError) -> [UInt8]? {
    do throws(SystemError) {
      return try files.readFile(
        Layout.description, in: root, limit: StoreDescription.maximumBytes, &status)
    } catch  where error.isPermission || error.isOutOfDescriptors {
      throw StoreError(error, path: "\(path)/store.json")
    } catch {
      let isThere = error != .notFound && !error.isWrongKind && error != .tooLarge
      if isThere { unreadable = StoreError(error, path: "\(path)/store.json") }
      return nil
    }
  }

  /// Writes CACHEDIR.TAG if it is missing, empty, or cut by a loss of power. A file to which
  /// somebody has added text stays.
  static func writeBackupTag(
    _ root: borrowing Descriptor, _ files: any FileSystem, synced: Bool
  ) throws(SystemError) {
    let text = Array(Layout.backupTagText.utf8)
    do throws(SystemError) {
      let status = try files.status(at: Layout.backupTag, in: root.raw)
      if status.kind != .file || status.length >= UInt64(text.count) { return }
      let found = try files.readFile(Layout.backupTag, in: root, limit: text.count)
      guard text.starts(with: found) else { return }
      try files.removeFile(Layout.backupTag, in: root.raw)
    } catch  where error == .notFound {}
    try files.writeNew(Layout.backupTag, in: root, text, synced: synced)
  }

  /// Writes store.json.
  package static func write(
    _ description: StoreDescription, _ root: borrowing Descriptor, _ strays: StrayQuarantine,
    synced: Bool
  ) throws(SystemError) {
    try? strays.fileSystem.removeDirectory(Layout.description, in: root.raw)
    try replace(Layout.description, with: description.encoded(), root, strays, synced: synced)
  }

  /// Writes a file in the directory of the store under the temporary name `store.json.new`, and
  /// renames it. The caller holds the lock.
  ///
  /// - Parameter locked: whether the file's lock is taken before it gets its name.
  /// - Returns: the new file.
  @discardableResult
  package static func replace(
    _ name: PathName, with bytes: [UInt8], _ root: borrowing Descriptor,
    _ strays: StrayQuarantine, synced: Bool, locked: Bool = false
  ) throws(SystemError) -> Descriptor {
    let (raw, new, files) = (root.raw, Layout.newDescription, strays.fileSystem)
    if try files.isDirectoryLeft(new, in: raw) { try setAside(new, root, strays) }
    let file = try files.open(new, in: root, [.read, .write, .create, .exclusive])
    do throws(SystemError) {
      try files.write(file, bytes)
      if synced { try files.synchronize(file, names: true) }
      if locked { try files.lock(file) }
      try files.rename(new, in: raw, to: name, in: raw)
    } catch {
      try? files.removeFile(new, in: raw)
      throw error
    }
    if synced { try files.synchronize(root, names: true) }
    return file
  }
}

extension FileSystem {
  /// Frees a temporary name: removes the file or empty directory that a killed process has left
  /// there.
  ///
  /// - Returns: whether the name is still in use, for a directory with contents, which the store
  ///   has not made.
  func isDirectoryLeft(_ name: PathName, in directory: Int32) throws(SystemError) -> Bool {
    do throws(SystemError) {
      if try status(at: name, in: directory).kind != .directory {
        try removeFile(name, in: directory)
        return false
      }
      try removeDirectory(name, in: directory)
      return false
    } catch  where error == .notFound { return false } catch  where error == .notEmpty {
      return true
    }
  }
}

extension StoreError {
  static func newerFormat(_ path: String, _ detail: String) -> StoreError {
    StoreError(
      .newerFormat, path: path, cause: detail, remedy: "use a newer version of OfflineCache")
  }
}
