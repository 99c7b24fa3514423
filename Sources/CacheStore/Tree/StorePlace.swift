internal import CLibrary
package import CacheFormat
package import CacheSystem

/// Runs system calls, and adds a path to their error.
@inline(__always)
func system<R: ~Copyable>(
  _ path: @autoclosure () -> String, _ body: () throws(SystemError) -> R
) throws(StoreError) -> R {
  do throws(SystemError) { return try body() } catch { throw StoreError(error, path: path()) }
}

/// The directories of a store, which are opened or made, and the content of store.json.
package final class StorePlace: Sendable {
  let path: String
  let fileSystem: any FileSystem
  package let description: StoreDescription
  let blockBytes: UInt64
  let isReadOnly: Bool
  /// Whether the upkeep does nothing by itself.
  let isSupervised: Bool
  let durability: Durability
  package let root: Descriptor
  package let journal: Descriptor
  package let staging: Descriptor
  package let quarantine: Descriptor
  let lock: JournalLock

  package static let directoryMode: UInt16 = 0o700

  init(_ path: String, _ options: Options) throws(StoreError) {
    let files = options.fileSystem
    let root = try Self.openRoot(path, options)
    try Self.checkOwner(of: root, path, files)
    try Self.checkContent(of: root, path, options)
    let lock = try Self.openLock(root, path, options)
    // Other processes that open the store at the same time wait for the lock, so each part is made
    // once.
    if !options.isReadOnly { try Self.makeDirectories(root, path, options) }
    let journal = try Self.openPart(Layout.journal, in: root, path, options)
    staging = try Self.openPart(Layout.staging, in: root, path, options)
    quarantine = try Self.openPart(Layout.quarantine, in: root, path, options)
    description = try Self.readOrMakeDescription(root, path, options)
    if !options.isReadOnly {
      // The store works without the tag, too.
      try? Self.writeBackupTag(root, files, synced: options.durability == .full)
    }
    if options.durability == .full && !options.isReadOnly {
      try Self.makeDurable(root, path, files)
    }
    if !options.isReadOnly { lock.release() }
    let rawRoot = root.raw
    blockBytes = try system(path) { () throws(SystemError) in
      try files.volume(of: rawRoot).blockBytes
    }
    self.lock = lock
    self.journal = journal
    isReadOnly = options.isReadOnly
    isSupervised = options.isSupervised
    durability = options.durability
    self.path = path
    self.fileSystem = files
    self.root = root
  }

  /// Whether the store may have promises of full durability, of this process or of another one. Then what they
  /// need is synced at both levels: directories that are made anew, and segments of the journal before
  /// others take their place.
  var isDurable: Bool {
    durability == .full || !fileSystem.isMissing(Layout.durable, in: journal.raw)
  }

  /// Shows other processes that this one has full durability. The sync of the first promise includes the
  /// name. The caller holds the lock of the journal.
  func showDurability() throws(StoreError) {
    guard durability == .full, !isSupervised, fileSystem.isMissing(Layout.durable, in: journal.raw)
    else { return }
    try system("\(path)/journal/\(Layout.durable.text)") { () throws(SystemError) in
      _ = try fileSystem.open(Layout.durable, in: journal, [.write, .create])
    }
  }

  /// Syncs the directory of the store and the one above it, so that their names survive a loss of
  /// power.
  private static func makeDurable(
    _ root: borrowing Descriptor, _ path: String, _ files: any FileSystem
  ) throws(StoreError) {
    do throws(SystemError) {
      try files.synchronize(root, names: true)
      let parent = try files.open(userPath: path + "/..", [.read, .directory])
      try files.synchronize(parent, names: true)
    } catch {
      // The store has not made a parent that it may not read, so its name is on disk.
      if !error.isPermission { throw StoreError(error, path: path) }
    }
  }

  /// Opens the present `entries` directory.
  func openEntries(_ options: Options) throws(StoreError) -> Descriptor {
    if let entries = try? Self.open(Layout.entries, in: root, path, fileSystem) { return entries }
    // Another process may be about to replace it, under the lock.
    try system("\(path)/lock") { () throws(SystemError) in try lock.take(in: root) }
    defer { lock.release() }
    return try Self.openPart(Layout.entries, in: root, path, options)
  }

  /// Opens a directory of the store. If a program that only reads lacks it, the root takes its place,
  /// which has no file with a name of that directory. A checker reports it instead.
  private static func openPart(
    _ name: PathName, in root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) -> Descriptor {
    do throws(StoreError) {
      return try open(name, in: root, path, options.fileSystem)
    } catch {
      guard options.isReadOnly, !options.isSupervised, error.code == .notFound else { throw error }
      return try openRoot(path, options)
    }
  }

  private static func open(
    _ name: PathName, in root: borrowing Descriptor, _ path: String, _ files: any FileSystem
  ) throws(StoreError) -> Descriptor {
    do throws(SystemError) {
      return try files.open(name, in: root, [.read, .directory])
    } catch { throw StoreError(error, path: "\(path)/\(name.text)") }
  }

  private static func openRoot(_ path: String, _ options: Options) throws(StoreError) -> Descriptor
  {
    let files = options.fileSystem
    // A system call would take what is before it for the whole path.
    guard !path.utf8.contains(0) else {
      throw StoreError(
        .notFound, path: path, cause: "the path has a NUL character", remedy: "give one without it")
    }
    do throws(SystemError) {
      return try files.open(userPath: path, [.read, .directory])
    } catch  where error == .notFound && options.createsStore && !options.isReadOnly {
      try makeRoot(path, files)
      return try system(path) { () throws(SystemError) in
        try files.open(userPath: path, [.read, .directory])
      }
    } catch  where error == .notFound {
      throw StoreError(
        .notFound, path: path, errno: error.code, cause: "there is no store",
        remedy: "check the path, or store something to make one")
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Makes the directory, and the missing ones above it.
  private static func makeRoot(_ path: String, _ files: any FileSystem) throws(StoreError) {
    guard !path.isEmpty else {
      throw StoreError(.notFound, path: path, cause: "the path is empty", remedy: "give a path")
    }
    var part = ""
    var refusal: StoreError?
    let components = path.split(separator: "/", omittingEmptySubsequences: false)
    for (place, component) in components.enumerated() {
      part += place == 0 ? component : "/" + component
      if component.isEmpty || component == "." || component == ".." { continue }
      do throws(SystemError) {
        try files.makeDirectory(userPath: part, mode: directoryMode)
        refusal = nil
      } catch  where error == .exists {
        refusal = nil
      } catch  where error == .notFound {
        // As in /proc. The directories above are there, or have failed before.
        refusal =
          refusal
          ?? StoreError(
            .notFound, path: part, errno: error.code, cause: "this folder cannot be made",
            remedy: "choose another place for the store")
      } catch {
        // A directory above may exist where this user may not write. Only the last one has to
        // succeed.
        refusal = refusal ?? StoreError(error, path: part)
      }
    }
    if let refusal { throw refusal }
  }

  private static func checkOwner(
    of root: borrowing Descriptor, _ path: String, _ files: any FileSystem
  ) throws(StoreError) {
    let raw = root.raw
    let status = try system(path) { () throws(SystemError) in try files.status(of: raw) }
    guard status.owner == geteuid() else {
      throw StoreError(
        .foreignOwner, path: path,
        cause: "it belongs to user \(status.owner), this is user \(geteuid())",
        remedy: "run as that user, or choose another store")
    }
  }

  /// Throws `notAStore` for a directory with other contents than a store, and `notFound` for an
  /// empty one in which no store is to be made.
  private static func checkContent(
    of root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) {
    let content: Content
    do throws(SystemError) {
      content = try self.content(of: root, options.fileSystem, options.clock)
    } catch { throw StoreError(error, path: path) }
    switch content {
    case .store: return
    case .others:
      throw StoreError(
        .notAStore, path: path, cause: "the directory is not empty, and there is no store in it",
        remedy: "name a store, or an empty or a new directory")
    case .nothing:
      if options.createsStore, !options.isReadOnly { return }
      throw StoreError(
        .notFound, path: path, cause: "the directory is empty, there is no store",
        remedy: "check the path, or store something to make one")
    }
  }
}
