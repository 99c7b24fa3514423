package import CacheSystem

// The directories of a store and its lock, which are made if they are missing. A file of another
// kind in their place is moved into the quarantine without being opened, so that a store can always
// be opened.
extension StorePlace {
  private static let directories = [
    Layout.quarantine, Layout.journal, Layout.entries, Layout.staging,
  ]

  /// Opens the file `lock`, and takes the lock unless the store is read-only. A file that has a
  /// second name (a hard link) is replaced by a copy, because the other name may be somebody
  /// else's.
  static func openLock(
    _ root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) -> JournalLock {
    let files = options.fileSystem
    return try system("\(path)/lock") { () throws(SystemError) in
      if options.isReadOnly {
        return try JournalLock(
          try openLockToRead(root, path, options), isReadOnly: true, files)
      }
      try setAsideUnlessFile(Layout.lock, root, options)
      let file = try files.open(Layout.lock, in: root, [.read, .write, .create])
      let lock = try JournalLock(file, isReadOnly: false, files)
      try lock.take(in: root)
      if try files.status(at: Layout.lock, in: root.raw).isLinked {
        try lock.replace(with: lock.mark ?? [], in: root, options.clock)
      }
      return lock
    }
  }

  /// Opens the file `lock`; the directory of the store if it is missing. A checker reports it instead.
  private static func openLockToRead(
    _ root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(SystemError) -> Descriptor {
    do throws(SystemError) {
      return try options.fileSystem.open(Layout.lock, in: root, [.read])
    } catch  where error == .notFound && !options.isSupervised {
      return try options.fileSystem.open(userPath: path, [.read, .directory])
    }
  }

  /// Throws the error with which a store that can be opened for reading, or is missing, could not be
  /// opened for writing, as far as that can be found out without writing.
  package static func checkWritable(_ path: String) throws(StoreError) {
    var (part, folder) = ("\(path)/\(Layout.lock.text)", path)
    while folder != part, (try? RealFileSystem().status(userPath: folder)) == nil {
      (part, folder) = (folder, UserPath.split(folder).folder)
    }
    try system(part) { () throws(SystemError) in
      do throws(SystemError) {
        try UserPath.checkWritable(part)
      } catch  where error == .notFound {
        // No folder can be made in place of a link.
        if folder != path, UserPath.linkTarget(Array(part.utf8)) != nil { throw error }
        try UserPath.checkWritable(folder)
      }
    }
  }

  /// Opens the file `lock` and takes the lock of the journal. It is released with the descriptor.
  ///
  /// - Throws: ENOENT if the file is missing and `makes` is false.
  package static func lockJournal(
    _ root: borrowing Descriptor, makes: Bool, _ files: any FileSystem
  ) throws(SystemError) -> Descriptor {
    while true {
      let file = try files.open(Layout.lock, in: root, makes ? [.read, .write, .create] : [.read])
      try files.lock(file)
      // Another file may have replaced it meanwhile.
      guard let named = try? files.status(at: Layout.lock, in: root.raw),
        try files.status(of: file.raw).identity != named.identity
      else { return file }
    }
  }

  /// Makes the directories. The caller holds the lock.
  static func makeDirectories(
    _ root: borrowing Descriptor, _ path: String, _ options: Options
  ) throws(StoreError) {
    let files = options.fileSystem
    for name in directories {
      try system("\(path)/\(name.text)") { () throws(SystemError) in
        if try makeDirectory(name, root, files) { return }
        if try files.status(at: name, in: root.raw).kind == .directory { return }
        try setAside(name, root, StrayQuarantine(files, options.clock))
        try makeDirectory(name, root, files)
      }
    }
  }

  /// Makes a directory of a store, in the root or another directory.
  ///
  /// - Returns: false if the name is in use.
  @discardableResult
  package static func makeDirectory(
    _ name: PathName, _ parent: borrowing Descriptor, _ files: any FileSystem
  ) throws(SystemError) -> Bool {
    do throws(SystemError) {
      try files.makeDirectory(name, in: parent.raw, mode: directoryMode)
      return true
    } catch  where error == .exists { return false }
  }

  /// Moves a directory, link or device that has the name of a file to the quarantine.
  static func setAsideUnlessFile(
    _ name: PathName, _ root: borrowing Descriptor, _ options: Options
  ) throws(SystemError) {
    let files = options.fileSystem
    guard let status = try? files.status(at: name, in: root.raw), status.kind != .file
    else { return }
    try setAside(name, root, StrayQuarantine(files, options.clock))
  }

  /// Moves a file in the directory of the store into the quarantine. If it is the quarantine
  /// itself, which is no directory then, it is moved into a new one.
  package static func setAside(
    _ name: PathName, _ root: borrowing Descriptor, _ strays: StrayQuarantine
  ) throws(SystemError) {
    let files = strays.fileSystem
    var moved = name
    if name.bytes == Layout.quarantine.bytes {
      moved = PathName("quarantine-")
      moved.appendHex(.random(in: .min ... .max), digits: 8)
      try files.rename(name, in: root.raw, to: moved, in: root.raw)
    }
    try makeDirectory(Layout.quarantine, root, files)
    let quarantine = try files.open(Layout.quarantine, in: root, [.read, .directory])
    try strays.move(moved, in: root.raw, of: [], to: quarantine)
  }
}
