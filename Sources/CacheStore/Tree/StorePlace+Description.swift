package import CacheFormat
package import CacheSystem

// store.json: read, made, or restored from what the journal and the tree say.
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
    // It may be whole, and all the rest be out of reach for the same reason: a new seed would make
    // every entry a foreign one.
    if restored == nil, let unreadable { throw unreadable }
    // Without any trace of the old seed there is nothing that a new one could contradict.
    let description = restored ?? newDescription(options.clock)
    try put(description, insteadOfForeign: other != nil, root, path, options)
    return description
  }

  /// Writes store.json in place of what stands there.
  ///
  /// - Parameter insteadOfForeign: whether that is the store.json of another store, which is kept:
  ///   somebody may miss it there.
  private static func put(
    _ description: StoreDescription, insteadOfForeign isForeign: Bool,
    _ root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) {
    if options.isReadOnly { return }
    let files = options.fileSystem
    try system("\(path)/store.json") { () throws(SystemError) in
      try setAsideUnlessFile(Layout.description, root, options)
      let strays = StrayQuarantine(files, options.clock)
      if isForeign { try setAside(Layout.description, root, strays, files) }
      try write(description, root, strays, files, synced: options.durability == .full)
    }
  }

  /// Replaces a store.json that has another name, which may be anybody's, by a copy.
  private static func detachDescription(
    _ bytes: [UInt8], _ root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) {
    if options.isReadOnly { return }
    try system("\(path)/store.json") { () throws(SystemError) in
      _ = try replace(
        Layout.description, with: bytes, root,
        StrayQuarantine(options.fileSystem, options.clock), options.fileSystem,
        synced: options.durability == .full)
    }
  }

  /// A description for a new store.
  package static func newDescription(_ clock: any WallClock) -> StoreDescription {
    StoreDescription(
      id: randomID(), hashSeed: .random(in: .min ... .max),
      created: Timestamp(nanoseconds: clock.now()))
  }

  static func randomID() -> StoreDescription.ID {
    .init(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
  }

  /// The bytes of store.json, or nil where it is missing or no readable file.
  ///
  /// - Parameter unreadable: set where the system cannot read it, though it may be whole.
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

  /// Writes CACHEDIR.TAG where it is missing, or empty or cut by a loss of power. One that somebody has
  /// added text to stays.
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
    _ files: any FileSystem, synced: Bool
  ) throws(SystemError) {
    try? files.removeDirectory(Layout.description, in: root.raw)
    try replace(
      Layout.description, with: description.encoded(), root, strays, files, synced: synced)
  }

  /// Writes a file of the top beside and renames it, under the name that store.json has until it is
  /// whole. The caller holds the lock.
  ///
  /// - Parameter locked: whether its advisory lock is taken before it gets its name.
  /// - Returns: the new file.
  @discardableResult
  package static func replace(
    _ name: PathName, with bytes: [UInt8], _ root: borrowing Descriptor,
    _ strays: StrayQuarantine, _ files: any FileSystem, synced: Bool, locked: Bool = false
  ) throws(SystemError) -> Descriptor {
    let (raw, new) = (root.raw, Layout.newDescription)
    if try files.isDirectoryLeft(new, in: raw) { try setAside(new, root, strays, files) }
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
  /// Frees the name that a file has until it is whole: removes what a killed process has left there.
  ///
  /// - Returns: whether a directory with something in it stands there, which is somebody else's.
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
