import CacheFormat
import CacheSystem
import MessageDigests

/// The files of one download: the target, and five hidden files beside it. Their names contain a
/// digest of the target's name (Docs/Format.md, "Downloads").
final class DownloadPlace: @unchecked Sendable {
  // Unchecked: one call at a time, and `close()` is the last.

  enum Kind {
    case finished
    case unfinished

    var suffix: StaticString {
      switch self {
      case .finished: ".json"
      case .unfinished: ".part.json"
      }
    }
  }

  static let prefix: StaticString = ".offlinecache-"
  static let partSuffix: StaticString = ".part"
  private static let sumsSuffix: StaticString = ".sums"
  private static let newSuffix: StaticString = ".new"
  let files: any FileSystem
  let target: PathName
  let part: PathName
  let sums: PathName
  /// The hidden file of a target that is written in another way than by a download.
  let new: PathName
  private let stem: PathName
  /// The open folder; `nil` after ``close()``.
  private var opened: OpenFile?

  private var openFolder: OpenFile {
    guard let opened else { preconditionFailure("a folder was used after it was closed") }
    return opened
  }

  var folder: Int32 { openFolder.descriptor.raw }

  /// Closes the folder. References to this object may live longer.
  func close() { opened = nil }

  init(_ path: String, _ files: any FileSystem) throws(DownloadError.Cause) {
    self.files = files
    let (folder, last) = UserPath.split(path)
    let name = Array(last.utf8)
    // At a NUL the system would end the path of the folder, and open another one.
    guard let target = PathName(bytes: name), last != ".", last != "..",
      !DownloadRequest.isReserved(last), !folder.utf8.contains(0)
    else { throw .invalidPath }
    do throws(SystemError) {
      opened = OpenFile(try files.open(userPath: folder, [.read, .directory]))
    } catch {
      throw .file(error)
    }
    self.target = target
    stem = Self.stem(of: name)
    part = Self.appending(Self.partSuffix, to: stem)
    sums = Self.appending(Self.sumsSuffix, to: stem)
    new = Self.appending(Self.newSuffix, to: stem)
  }

  private static func stem(of name: [UInt8]) -> PathName {
    var stem = PathName(prefix)
    let digest = Digest(hashing: name)
    stem.appendHex(digest.high, digits: 16)
    stem.appendHex(digest.low, digits: 16)
    return stem
  }

  /// Returns the name of the part that sums belong to; `nil` for another hidden file.
  static func part(of name: PathName) -> PathName? {
    guard name.hasSuffix(sumsSuffix) else { return nil }
    return PathName(bytes: name.bytes.dropLast("\(sumsSuffix)".utf8.count)).map {
      appending(partSuffix, to: $0)
    }
  }

  private static func appending(_ suffix: StaticString, to stem: PathName) -> PathName {
    var name = stem
    name.append(suffix)
    return name
  }

  var targetName: ByteString { ByteString(bytes: target.bytes) }

  /// Opens or creates a hidden file. A file of another user is removed before, if the folder allows
  /// that.
  ///
  /// - Parameter mode: The mode of a new file.
  func open(_ name: PathName, mode: UInt16) throws(SystemError) -> Descriptor {
    let options: OpenOptions = [.read, .write, .create]
    do throws(SystemError) {
      return try files.open(name, in: openFolder.descriptor, options, mode: mode)
    } catch {
      guard error.isPermission, let status = status(name), !status.isOwnFile else { throw error }
      try files.removeFile(name, in: folder)
      return try files.open(name, in: openFolder.descriptor, options, mode: mode)
    }
  }

  func status(_ name: PathName) -> FileStatus? {
    try? files.status(at: name, in: folder)
  }

  /// Returns the status of a file of this user, or `nil` for all other files, which may be planted.
  func ownStatus(_ name: PathName) -> FileStatus? {
    status(name).flatMap { $0.isOwnFile ? $0 : nil }
  }

  /// Gives the part the permissions of the file that it will replace, if that is this user's. The user
  /// may read and write it in any case, so that the download can be resumed.
  func passOnMode() {
    guard let old = ownStatus(target), old.kind == .file else { return }
    // A volume without permissions has none to pass on.
    try? files.changeMode(at: part, in: folder, to: old.mode & 0o777 | 0o600)
  }

  /// Returns the name of a file of another user that a download would have to replace, but that
  /// cannot be removed from the folder.
  ///
  /// - Parameter hasTarget: Whether the target is to be replaced as well.
  func othersFile(hasTarget: Bool) -> PathName? {
    guard let inside = try? files.status(of: folder) else { return nil }
    let names = [part, sums, recordName(.unfinished), recordName(.finished)]
    return (hasTarget ? names + [target] : names).first { name in
      status(name).map { !$0.isReplaceable(in: inside) } ?? false
    }
  }

  func remove(_ name: PathName) {
    try? files.removeFile(name, in: folder)
  }

  /// Removes the hidden files of a process that was killed while it wrote a record, or the target in
  /// another way than by a download.
  func removeLeftovers() {
    for name in [new, newRecord] { files.removeLeftover(name, in: openFolder.descriptor) }
  }

  func movePartIntoPlace() throws(SystemError) {
    try files.rename(part, in: folder, to: target, in: folder)
  }

  /// Waits until the name of the target survives a loss of power.
  func synchronize() throws(SystemError) {
    try files.synchronize(openFolder.descriptor, names: true)
  }
}

// Records.
extension DownloadPlace {
  /// Reads a record; returns `nil` if there is none, it is damaged or of another file, or others may have
  /// written it.
  ///
  /// - Throws: `SystemError` if it is not known whether there is one: no descriptor is free, for example.
  func record(_ kind: Kind) throws(SystemError) -> DownloadRecord? {
    let record = try Self.record(recordName(kind), in: openFolder.descriptor, files)
    return record?.file == targetName ? record : nil
  }

  static func record(
    _ name: PathName, in folder: borrowing Descriptor, _ files: any FileSystem
  ) throws(SystemError) -> DownloadRecord? {
    var status: FileStatus?
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try files.readFile(name, in: folder, limit: DownloadRecord.maximumBytes, &status)
    } catch {
      // One of this user cannot be read while the screen is locked, for example. One whose mode forbids it
      // never can.
      if error.isPermission, let status = try? files.status(at: name, in: folder.raw),
        status.isOwnFile, status.mode & 0o400 != 0
      {
        throw error
      }
      if error.isOfNoOwnFile { return nil }
      throw error
    }
    return status?.isPrivateFile == true ? DownloadRecord(decoding: bytes) : nil
  }

  /// Returns the record of the target, if the target is there and unchanged.
  func finishedRecord() throws(SystemError) -> DownloadRecord? {
    guard let record = try record(.finished), let status = ownStatus(target), record.isOf(status)
    else { return nil }
    return record
  }

  /// Returns the time of the last change of the target, if it is a download of a URL and unchanged,
  /// or `nil`. The length is not compared, as it may be short after a loss of power.
  func ownTime(of url: String) throws(SystemError) -> Int64? {
    guard let time = ownStatus(target)?.modified, let record = try record(.finished),
      record.url == url, time == record.modified || time == record.replaced
    else { return nil }
    return time
  }

  /// Returns the time of the last change of the target, if it is not a download of a URL or was
  /// changed; returns `nil` also if there is no target.
  func anothersTime(than url: String) throws(SystemError) -> Int64? {
    try ownTime(of: url) == nil ? status(target)?.modified : nil
  }

  /// Returns the record of a complete and verified file that still has the name of the part,
  /// because the process was killed before the rename.
  func recordOfWholePart() throws(SystemError) -> DownloadRecord? {
    guard let record = try record(.finished), let status = ownStatus(part), record.isOf(status)
    else { return nil }
    return record
  }

  func begun(for url: String) throws(SystemError) -> DownloadRecord? {
    try record(.unfinished).flatMap { $0.url == url ? $0 : nil }
  }

  /// Returns the expiry of the last call for a URL, finished or not.
  func statedExpiry(for url: String) throws(SystemError) -> DownloadExpiry? {
    if let expiry = try begun(for: url)?.expiry { return expiry }
    return try record(.finished).flatMap { $0.url == url ? $0.expiry : nil }
  }

  /// Returns the record of the target as ``finishedRecord()`` does, if it is wanted and the target
  /// has a digest. For the digest, the whole target is read.
  func finishedRecord(
    with digest: StatedDigest?, where isWanted: (DownloadRecord) -> Bool = { _ in true }
  ) throws(SystemError) -> DownloadRecord? {
    guard let record = try finishedRecord(), isWanted(record) else { return nil }
    guard let digest else { return record }
    // The target may have changed while it was read.
    guard try has(target, digest), try finishedRecord() == record else { return nil }
    return record
  }

  /// Reads a whole file, and returns whether it has a digest; true if none is stated.
  func has(_ name: PathName, _ digest: StatedDigest?) throws(SystemError) -> Bool {
    guard let digest else { return true }
    do throws(SystemError) {
      let file = try files.open(name, in: openFolder.descriptor, [.read])
      let made = MessageDigest(digest.algorithm)
      var offset: Int64 = 0
      while true {
        let bytes = try files.readBytes(file, count: PartContent.blockBytes, at: offset)
        if bytes.isEmpty { return made.finish() == digest.bytes }
        made.update(bytes)
        offset += Int64(bytes.count)
      }
    } catch {
      if error.isOfNoOwnFile { return false }
      throw error
    }
  }

  /// Begins the time of a sliding expiry anew, and returns the record. The record stays as it is if
  /// the file is being downloaded, or cannot be written.
  func prolonged(_ record: DownloadRecord, from now: Timestamp) -> DownloadRecord {
    guard let expiry = record.expiry, expiry.isSliding else { return record }
    let prolonged = try? PartFile.withLock(self) { part throws(SystemError) in
      defer { try? part.removeIfUnused() }
      guard var current = try finishedRecord(), current == record else { return record }
      current.expire(expiry, from: now)
      try save(current, .finished)
      return current
    }
    return prolonged ?? record
  }

  func save(_ record: DownloadRecord, _ kind: Kind) throws(SystemError) {
    guard let bytes = try? record.encoded() else { throw .tooLarge }
    try files.replace(recordName(kind), in: openFolder.descriptor, with: bytes, through: newRecord)
  }

  func removeRecord(_ kind: Kind) {
    remove(recordName(kind))
  }

  private var newRecord: PathName { Self.appending(".json.new", to: stem) }

  /// Returns whether a name is that of a hidden file that is no record.
  static func isHiddenContent(_ name: PathName) -> Bool {
    name.bytes.starts(with: "\(prefix)".utf8)
      && [partSuffix, sumsSuffix, newSuffix].contains { name.hasSuffix($0) }
  }

  func recordName(_ kind: Kind) -> PathName { Self.appending(kind.suffix, to: stem) }
}

extension DownloadRecord {
  /// Returns whether a file is the one that was recorded, and unchanged.
  func isOf(_ file: FileStatus) -> Bool { file.length == length && file.modified == modified }
}

extension SystemError {
  /// Whether a file that could not be read is not there, or none that this program has written.
  fileprivate var isOfNoOwnFile: Bool {
    self == .notFound || isWrongKind || self == .tooLarge || isPermission
  }
}

extension DownloadRequest {
  /// Returns whether a name is like those of the hidden files of downloads. The content of a server with
  /// such a name would be taken for the record, or the part, of another download. Volumes of a Mac, and
  /// folders of Linux with `casefold`, do not tell the case of letters apart, nor some ligatures, and some
  /// of them ignore characters that are not visible.
  package static func isReserved(_ name: String) -> Bool {
    let visible = name.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
    return String(visible).uppercased().utf8.starts(
      with: "\(DownloadPlace.prefix)".uppercased().utf8)
  }
}
