internal import CacheSystem

/// Makes a database readable without altering it.
///
/// A database with a -wal or a hot -journal beside it cannot be read in place: read-only, SQLite
/// fails, and opened as immutable it has no rows or damaged ones.
struct PrivateCopy {
  private static let pieceBytes = 1 << 20
  private static let attempts = 3

  /// The path at which the database is opened.
  let path: String
  /// Whether that is the source itself, which is then only read.
  let isInPlace: Bool
  let header: DatabaseHeader
  /// The files of the source, which did not change while they were copied.
  let files: DatabaseFiles

  /// Copies a database with its -wal and its -journal, or determines that it can be read in place.
  ///
  /// - Parameter copyLimit: A longer database is read in place if that is safe.
  init(
    of source: String, into folder: TemporaryFolder, copyLimit: UInt64, stop: MigrationStop
  ) throws(SourceError) {
    for _ in 0..<Self.attempts {
      let before = try DatabaseFiles(of: source)
      let header = try Self.header(of: source, length: before.main.length)
      if before.main.length > copyLimit, !before.hasLog, header.isRollbackMode {
        path = source
        isInPlace = true
        files = before
        self.header = header
        return
      }
      // A writer creates and removes the -journal with each transaction.
      var isWhole = try !Self.isWritten(source, before, header)
      if isWhole { isWhole = try Self.copy(source, before, in: folder, stop) }
      if isWhole, before.journal != nil { try Self.refuseSuperJournal(source, in: folder) }
      if isWhole, try DatabaseFiles(of: source) == before,
        try !Self.isWritten(source, before, header)
      {
        path = folder.path + "/source"
        isInPlace = false
        files = before
        self.header = header
        return
      }
      try Self.removeCopies(in: folder, source)
    }
    throw SourceError(.busy, source, "it changed \(Self.attempts) times while it was copied")
  }

  /// Returns whether another process writes to the pages of a database, or has done so since its
  /// header was read. Without a journal on disk, such as with `journal_mode=MEMORY`, nothing shows
  /// which pages are old, and the times of a file are too coarse to show every change.
  private static func isWritten(
    _ source: String, _ found: DatabaseFiles, _ header: DatabaseHeader
  ) throws(SourceError) -> Bool {
    guard header.isRollbackMode, !found.hasLoggedPages else { return false }
    let isLocked: Bool
    do throws(SystemError) {
      let files = RealFileSystem()
      let file = try files.open(userPath: source, [.read])
      isLocked = files.isWriteLocked(file.raw, sharedLocks)
    } catch { throw SourceError(reading: source, error) }
    if isLocked { return true }
    return try Self.header(of: source, length: found.main.length).changes != header.changes
  }

  /// The bytes of a database that a program locks for writing while it writes to the pages; it locks
  /// others while it only prepares that (sqlite.org/lockingv3.html).
  private static let sharedLocks: Range<Int64> = 0x4000_0002..<0x4000_0200

  private static func header(
    of source: String, length: UInt64
  ) throws(SourceError) -> DatabaseHeader {
    let bytes: [UInt8]
    do throws(SystemError) {
      let files = RealFileSystem()
      let file = try files.open(userPath: source, [.read])
      bytes = try files.readBytes(file, count: DatabaseHeader.sampleBytes, at: 0)
    } catch { throw SourceError(reading: source, error) }
    return try DatabaseHeader(bytes, path: source, length: length)
  }

  /// Copies a database and the files beside it, except the -shm, which SQLite builds again.
  ///
  /// - Returns: `false` if one of the files beside it has disappeared meanwhile.
  private static func copy(
    _ source: String, _ found: DatabaseFiles, in folder: TemporaryFolder, _ stop: MigrationStop
  ) throws(SourceError) -> Bool {
    try copy(source, found.main.length, to: "source", in: folder, stop)
    do throws(SourceError) {
      if let log = found.log {
        try copy(source + "-wal", log.length, to: "source-wal", in: folder, stop)
      }
      if let journal = found.journal {
        try copy(source + "-journal", journal.length, to: "source-journal", in: folder, stop)
      }
      return true
    } catch  where error.cause == .notFound { return false } catch { throw error }
  }

  /// Copies the bytes that a file had: one that grows as fast as it is copied would have no end.
  static func copy(
    _ source: String, _ length: UInt64, to name: StaticString, in folder: TemporaryFolder,
    _ stop: MigrationStop
  ) throws(SourceError) {
    let files = RealFileSystem()
    let from: Descriptor
    do throws(SystemError) {
      from = try files.open(userPath: source, [.read])
    } catch { throw SourceError(reading: source, error) }
    let to: Descriptor
    do throws(SystemError) {
      to = try files.open(PathName(name), in: folder.descriptor, [.write, .create, .exclusive])
    } catch { throw SourceError(.copy, source, error.description) }
    var offset: UInt64 = 0
    while offset < length, !stop.isRequested {
      let count = Int(min(UInt64(pieceBytes), length - offset))
      let piece: [UInt8]
      do throws(SystemError) {
        piece = try files.readBytes(from, count: count, at: Int64(offset))
      } catch { throw SourceError(reading: source, error) }
      if piece.isEmpty { break }
      do throws(SystemError) {
        try files.write(to, piece)
      } catch { throw SourceError(.copy, source, error.description) }
      offset += UInt64(piece.count)
    }
    if stop.isRequested { throw SourceError(.cancelled, source) }
  }

  /// Throws if a journal names a super-journal. A journal may end with such a name, and SQLite
  /// removes the file of that name when it has rolled back: it may be any file that this user can
  /// remove.
  private static func refuseSuperJournal(
    _ source: String, in folder: TemporaryFolder
  ) throws(SourceError) {
    let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    let end: [UInt8]
    do throws(SystemError) {
      let files = RealFileSystem()
      let file = try files.open(PathName("source-journal"), in: folder.descriptor, [.read])
      let length = try files.status(of: file.raw).length
      guard length >= 16 else { return }
      end = try files.readBytes(file, count: 8, at: Int64(length) - 8)
    } catch { throw SourceError(reading: source + "-journal", error) }
    if end == magic { throw SourceError(.superJournal, source) }
  }

  private static func removeCopies(
    in folder: TemporaryFolder, _ source: String
  ) throws(SourceError) {
    for name in ["source", "source-wal", "source-journal"] as [StaticString] {
      do throws(SystemError) {
        try RealFileSystem().removeFile(PathName(name), in: folder.descriptor.raw)
      } catch  where error == .notFound { continue } catch {
        throw SourceError(.copy, source, error.description)
      }
    }
  }
}

extension SourceError {
  /// Creates the error for a file of the source that cannot be opened or read.
  init(reading path: String, _ error: SystemError) {
    let cause: Cause =
      error == .notFound ? .notFound : error.isPermission ? .permission : .unreadable
    self.init(cause, path, cause == .unreadable ? error.description : "")
  }
}
