package import CacheFormat
package import CacheSystem

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Runs system calls and says of which path a failure is.
@inline(__always)
func system<R: ~Copyable>(
  _ path: @autoclosure () -> String, _ body: () throws(SystemError) -> R
) throws(StoreError) -> R {
  do throws(SystemError) { return try body() } catch { throw StoreError(error, path: path()) }
}

/// The directories of a store, found or made, and what store.json says.
package final class StorePlace: Sendable {
  let path: String
  let fileSystem: any FileSystem
  package let description: StoreDescription
  let blockBytes: UInt64
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
    // Whoever opens at the same time waits for the lock, so that each part is made once.
    if !options.isReadOnly { try Self.makeDirectories(root, path, options) }
    let journal = try Self.open(Layout.journal, in: root, path, files)
    staging = try Self.open(Layout.staging, in: root, path, files)
    quarantine = try Self.open(Layout.quarantine, in: root, path, files)
    description = try Self.readOrMakeDescription(root, path, options)
    if !options.isReadOnly {
      // A tag for others: without it the store works as well.
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
    self.path = path
    self.fileSystem = files
    self.root = root
  }

  /// Makes the names of the store and of its directories survive loss of power, whoever made them.
  private static func makeDurable(
    _ root: borrowing Descriptor, _ path: String, _ files: any FileSystem
  ) throws(StoreError) {
    do throws(SystemError) {
      try files.synchronize(root, names: true)
      let parent = try files.open(userPath: path + "/..", [.read, .directory])
      try files.synchronize(parent, names: true)
    } catch {
      // A parent that may not be read is not ours, and was there before.
      if !error.isPermission { throw StoreError(error, path: path) }
    }
  }

  /// Opens the present `entries` directory.
  func openEntries() throws(StoreError) -> Descriptor {
    try Self.open(Layout.entries, in: root, path, fileSystem)
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

  /// Makes the directory and those above it that are missing.
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
      } catch  where error == .exists { refusal = nil } catch {
        // A directory above may be there and not be ours to write to; what matters is the last one.
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

  /// Refuses a directory with something else than a store in it.
  private static func checkContent(
    of root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) {
    var hasStore = false
    var isEmpty = true
    let raw = root.raw
    try system(path) { () throws(SystemError) in
      try options.fileSystem.list(raw) { name, _ in
        isEmpty = false
        // Any of them: a power cut may have left just one.
        hasStore = Layout.topNames.contains(name.text)
        return !hasStore
      }
    }
    if hasStore { return }
    if !isEmpty {
      throw StoreError(
        .notAStore, path: path, cause: "the directory is not empty, and there is no store in it",
        remedy: "choose an empty or a new directory")
    }
    if options.isReadOnly || !options.createsStore {
      throw StoreError(
        .notFound, path: path, cause: "the directory is empty, there is no store",
        remedy: "check the path, or store something to make one")
    }
  }
}
