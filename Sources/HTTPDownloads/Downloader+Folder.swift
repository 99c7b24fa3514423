import CacheFormat
import CacheSystem

/// A download in a folder: finished, or interrupted.
public struct FoundDownload: Sendable, Hashable {
  /// The path of the file.
  public let path: String

  /// The record of the download.
  public let record: DownloadRecord

  /// Whether the download is finished and the file is there.
  public let isFinished: Bool

  /// The number of bytes that are there; for an interrupted download, before their sums are
  /// verified.
  public let received: UInt64
}

// Downloads of earlier calls.
extension Downloader {
  /// Returns the downloads in a folder: those that are finished and whose file is unchanged, and
  /// those that were interrupted, in the order of their names.
  ///
  /// To resume one, start it again with its URL and path. Records without a file are removed.
  ///
  /// - Throws: ``DownloadError`` if the folder cannot be read.
  public func downloads(in folder: String) async throws(DownloadError) -> [FoundDownload] {
    do throws(SystemError) {
      return try await pool.call { [files] () throws(SystemError) in
        try Self.find(in: folder, files)
      }
    } catch {
      throw DownloadError(.file(error), url: "", path: folder)
    }
  }

  /// Removes the bytes of an interrupted call, and the record of a finished download. The file itself
  /// stays. A download of this downloader that is in progress is cancelled for all its callers.
  ///
  /// - Throws: ``DownloadError`` if the folder cannot be used; `file` with `EWOULDBLOCK` while another
  ///   process or downloader is at it.
  public func forget(_ path: String) async throws(DownloadError) {
    try await forget(path, removesFile: false)
  }

  /// Forgets all downloads of a folder, and removes the files that are unchanged.
  ///
  /// - Throws: As ``forget(_:)``, once all others are removed.
  package func removeAll(in folder: String) async throws(DownloadError) {
    let paths: Set<String>
    var failure: DownloadError?
    do throws(SystemError) {
      let (found, unread) = try await pool.call { [files] () throws(SystemError) in
        var found: Set<String> = []
        let unread = try Self.visitRecords(in: folder, files) { _, _, path, _ in
          found.insert(path)
        }
        return (found, unread)
      }
      paths = found
      failure = unread.map { DownloadError(.file($0), url: "", path: folder) }
    } catch {
      throw DownloadError(.file(error), url: "", path: folder)
    }
    for path in paths.sorted() {
      do throws(DownloadError) { try await forget(path, removesFile: true) } catch {
        failure = failure ?? error
      }
    }
    await pool.call { [files] in Self.removeHiddenContent(in: folder, files) }
    if let failure { throw failure }
  }

  private func forget(_ path: String, removesFile: Bool) async throws(DownloadError) {
    for download in downloads(to: path) { await download.end() }
    do throws(DownloadError.Cause) {
      try await pool.call { [files] () throws(DownloadError.Cause) in
        let place = try DownloadPlace(path, files)
        do throws(SystemError) {
          try Self.forget(place, removesFile: removesFile)
        } catch {
          throw DownloadError.Cause.file(error)
        }
      }
    } catch {
      throw DownloadError(error, url: "", path: path)
    }
  }

  private static func forget(
    _ place: DownloadPlace, removesFile: Bool
  ) throws(SystemError) {
    let isDone: Void? = try PartFile.withLock(place) { part throws(SystemError) in
      // The record may be that of a file that is about to replace this one.
      if removesFile, let record = try place.record(.finished),
        try place.ownTime(of: record.url) != nil
      {
        place.remove(place.target)
      }
      part.remove()
      place.removeRecord(.finished)
      place.removeLeftovers()
    }
    if isDone == nil { throw .wouldBlock }
  }

  /// Removes the hidden files without a record, which a kill has left, unless they are in use.
  private static func removeHiddenContent(in folder: String, _ files: any FileSystem) {
    guard let directory = try? files.open(userPath: folder, [.read, .directory]) else { return }
    var names: [PathName] = []
    try? files.list(directory.raw) { name, kind in
      if kind == .file, DownloadPlace.isHiddenContent(name) { names.append(name) }
      return true
    }
    func status(_ name: PathName) -> FileStatus? {
      try? files.status(at: name, in: directory.raw)
    }
    func remove(where isMeant: (PathName) -> Bool) {
      for name in names where isMeant(name) && status(name)?.isOwnFile == true {
        files.removeLeftover(name, in: directory)
      }
    }
    remove { DownloadPlace.part(of: $0) == nil }
    // The lock of a part is that of its sums, too.
    remove { DownloadPlace.part(of: $0).map { status($0) == nil } ?? false }
  }

  private static func find(
    in folder: String, _ files: any FileSystem
  ) throws(SystemError) -> [FoundDownload] {
    var found: [FoundDownload] = []
    try visitRecords(in: folder, files) { place, record, path, isFinished throws(SystemError) in
      if let download = try place.found(record, path, isFinished: isFinished) {
        found.append(download)
      }
    }
    return found.sorted { $0.path < $1.path }
  }

  /// Calls `body` with each record of a folder, the path of its file, and whether it is finished.
  ///
  /// - Returns: The error of a record that cannot be read, or `nil`.
  @discardableResult
  private static func visitRecords(
    in folder: String, _ files: any FileSystem,
    _ body: (DownloadPlace, DownloadRecord, String, Bool) throws(SystemError) -> Void
  ) throws(SystemError) -> SystemError? {
    var unread: SystemError?
    let directory = try files.open(userPath: folder, [.read, .directory])
    var names: [PathName] = []
    try files.list(directory.raw) { name, _ in
      if DownloadPlace.isRecord(name) { names.append(name) }
      return true
    }
    let base = folder.hasSuffix("/") ? folder : folder + "/"
    for name in names {
      let record: DownloadRecord?
      do throws(SystemError) {
        record = try DownloadPlace.record(name, in: directory, files)
      } catch {
        // One that cannot be read does not hide the others.
        if error.isOutOfDescriptors { throw error }
        unread = unread ?? error
        continue
      }
      guard let record, let file = record.file.string,
        let place = try? DownloadPlace(base + file, files), place.targetName == record.file
      else { continue }
      // A record counts only for a file in the same folder, and under the name that belongs to it.
      let isFinished = name.bytes == place.recordName(.finished).bytes
      guard isFinished || name.bytes == place.recordName(.unfinished).bytes else { continue }
      try body(place, record, base + file, isFinished)
    }
    return unread
  }
}

extension DownloadPlace {
  static func isRecord(_ name: PathName) -> Bool {
    name.hasSuffix(".json") && name.bytes.starts(with: Array("\(prefix)".utf8))
  }

  fileprivate func found(
    _ record: DownloadRecord, _ path: String, isFinished: Bool
  ) throws(SystemError) -> FoundDownload? {
    if isFinished {
      guard let record = try finishedRecord() else {
        if let whole = try recordOfWholePart() {
          return FoundDownload(
            path: path, record: whole, isFinished: false, received: whole.length ?? 0)
        }
        // The file was removed. If it was replaced, the record stays.
        if status(target) == nil { removeOrphan(record, .finished) }
        return nil
      }
      return FoundDownload(
        path: path, record: record, isFinished: true, received: record.length ?? 0)
    }
    guard let status = status(part) else {
      removeOrphan(record, .unfinished)
      return nil
    }
    guard status.isOwnFile else { return nil }
    return FoundDownload(
      path: path, record: record, isFinished: false, received: status.length)
  }

  /// Removes a record whose file is gone, unless somebody has begun a download since.
  private func removeOrphan(_ orphan: DownloadRecord, _ kind: Kind) {
    // Errors are ignored: the record is of no use, and does no harm.
    _ = try? PartFile.withLock(self) { part throws(SystemError) in
      // The file may have got its name back since.
      if try record(kind) == orphan, kind == .unfinished || status(target) == nil {
        removeRecord(kind)
      }
      try part.removeIfUnused()
    }
  }
}
