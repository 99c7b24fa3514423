import CacheFormat
import CacheSystem
import MessageDigests

/// The file with the bytes of an unfinished download, in order, and the file with the sums of its
/// blocks.
///
/// Whoever resumes the download uses the blocks up to the first one with a wrong sum. That covers
/// kills, loss of power and changes by others, without a sync while the file grows. The sums belong
/// to one record: whatever order the files reach the disk in, bytes of another answer have no sums.
/// The file is locked until ``close()``. All calls block.
final class PartFile: @unchecked Sendable {
  // Unchecked: one call at a time; the download waits for each call before it makes the next.

  private final class Files {
    let part: Descriptor
    let sums: Descriptor

    init(_ part: consuming Descriptor, _ sums: consuming Descriptor) {
      self.part = part
      self.sums = sums
    }
  }

  let place: DownloadPlace
  /// The open files; `nil` after ``close()``.
  private var opened: Files?
  private var content = PartContent()

  private init(_ place: DownloadPlace, _ part: consuming Descriptor, _ sums: consuming Descriptor) {
    self.place = place
    opened = Files(part, sums)
  }

  /// Closes the files, which releases the lock. References to this object may live longer: they are
  /// in closures that other threads drop later.
  func close() { opened = nil }

  private var files: Files {
    guard let opened else { preconditionFailure("a part was used after it was closed") }
    return opened
  }

  /// Runs `body` with the part of a place, locked, and closes it.
  ///
  /// - Returns: the result of `body`, or `nil` if another process has the lock.
  static func withLock<R>(
    _ place: DownloadPlace, _ body: (PartFile) throws(SystemError) -> R
  ) throws(SystemError) -> R? {
    guard let part = try open(place) else { return nil }
    defer { part.close() }
    return try body(part)
  }

  /// Opens and locks the part, and creates it if there is none. Call ``close()`` at the end.
  ///
  /// - Returns: `nil` if another process has the lock.
  static func open(_ place: DownloadPlace) throws(SystemError) -> PartFile? {
    var hasRemoved = false
    while true {
      // The mode of a new target, which the part becomes.
      let part = try place.open(place.part, mode: 0o666)
      guard try place.files.tryLock(part) else {
        // A lock of another user is not waited for: it may never end, and the file would not be
        // used.
        guard try place.files.status(of: part.raw).isOwnFile else { throw .othersFile }
        return nil
      }
      switch try check(part, place.part, place) {
      case .ours:
        place.passOnMode()
        return PartFile(place, part, try openSums(place))
      case .moved: continue
      case .removed:
        // On some volumes, every new file belongs to another user.
        if hasRemoved { throw .othersFile }
        hasRemoved = true
      }
    }
  }

  private static func openSums(_ place: DownloadPlace) throws(SystemError) -> Descriptor {
    var hasRemoved = false
    while true {
      let sums = try place.open(place.sums, mode: 0o600)
      // On a volume without permissions, others may always write to a new file. It is used, because the
      // sums are only believed if an earlier call has left them.
      let length = try place.files.status(of: sums.raw).length
      let isNew = hasRemoved && length == 0
      switch try check(sums, place.sums, place, isPrivate: !isNew) {
      case .ours: return sums
      case .moved: continue
      case .removed:
        if hasRemoved { throw .othersFile }
        hasRemoved = true
      }
    }
  }

  /// What was found out about an open file.
  private enum Finding {
    case ours
    /// The name belongs to another file, or to none.
    case moved
    /// It must not be used, and has lost the name.
    case removed
  }

  /// Checks whether a name still belongs to the file that was opened: the previous owner of the
  /// lock may have renamed or removed the file. A file with a second name, which is a copy that
  /// must not change, and a file of another user lose this name.
  ///
  /// - Parameter isPrivate: Whether nobody else may have write permission. This holds for the sums, so that
  ///   of a part that others may write to, only what this user has written is used.
  /// - Throws: `EPERM` if the file of another user cannot be removed from the folder.
  private static func check(
    _ file: borrowing Descriptor, _ name: PathName, _ place: DownloadPlace,
    isPrivate: Bool = false
  ) throws(SystemError) -> Finding {
    let opened = try place.files.status(of: file.raw)
    guard opened.kind == .file else { throw .notAFile }
    guard place.status(name)?.identity == opened.identity else { return .moved }
    let isOwn = isPrivate ? opened.isPrivateFile : opened.isOwnFile
    if isOwn, opened.linkCount == 1 { return .ours }
    try place.files.removeFile(name, in: place.folder)
    return .removed
  }

  /// Waits until the bytes survive a loss of power. If that fails, the part begins anew: another attempt
  /// would succeed without the bytes that could not be written (fsync(2), "NOTES").
  func synchronize() throws(SystemError) {
    do throws(SystemError) { try place.files.synchronize(files.part, names: true) } catch {
      try? restart()
      throw error
    }
  }

  /// Returns the status of the part, or `nil` if its name belongs to another file, or it has
  /// another length than what was written: somebody else has changed it.
  func status() throws(SystemError) -> FileStatus? {
    let status = try place.files.status(of: files.part.raw)
    guard status.length == content.written,
      place.status(place.part)?.identity == status.identity
    else { return nil }
    return status
  }

  func isEmpty() throws(SystemError) -> Bool {
    try place.files.status(of: files.part.raw).length == 0
  }

  /// Renames the part to the target. Call ``status()`` before.
  func moveIntoPlace() throws(SystemError) {
    removeCompanions()
    try place.movePartIntoPlace()
  }

  /// Removes the part with its sums and its record, unless somebody else has removed or replaced
  /// it.
  func remove() {
    guard let opened = try? place.files.status(of: files.part.raw),
      place.status(place.part)?.identity == opened.identity
    else { return }
    removeCompanions()
    place.remove(place.part)
  }

  /// Removes the part as ``remove()`` does, unless it belongs to another URL.
  func remove(of url: String) throws(SystemError) {
    if try place.record(.unfinished)?.url ?? url == url { remove() }
  }

  /// Removes the part as ``remove()`` does, if it has neither bytes nor a record.
  func removeIfUnused() throws(SystemError) {
    if try place.record(.unfinished) == nil, try isEmpty() { remove() }
  }

  /// Removes sums and record. This comes before the part loses its name, because from then on
  /// another process may create files with the same names.
  private func removeCompanions() {
    place.remove(place.sums)
    place.removeRecord(.unfinished)
  }
}

// The bytes.
extension PartFile {
  /// The number of bytes, including those that are not written yet.
  var length: UInt64 { content.length }

  /// Removes all bytes.
  ///
  /// - Parameters:
  ///   - record: The record of the bytes that follow; `nil` if none follow.
  ///   - algorithm: The digest of the bytes to compute; `nil` for none.
  func restart(for record: DownloadRecord? = nil, _ algorithm: DigestAlgorithm? = nil)
    throws(SystemError)
  {
    try cut(to: PartContent(of: record, algorithm))
  }

  /// Reads the bytes that are there, and cuts them off at the first block with a wrong sum.
  ///
  /// - Parameters:
  ///   - record: The record that the bytes must belong to.
  ///   - algorithm: The digest of the bytes to compute; `nil` for none.
  ///   - isGivenUp: Called before each block; if it returns true, all files are left as they were.
  /// - Complexity: O(length), in the memory of one block.
  func recover(
    for record: DownloadRecord, _ algorithm: DigestAlgorithm?, unless isGivenUp: () -> Bool
  ) throws(SystemError) {
    var good = PartContent(of: record, algorithm)
    while true {
      if isGivenUp() { return }
      let sum = try place.files.readBytes(
        files.sums, count: PartContent.sumBytes, at: good.sumsLength)
      guard let length = good.blockLength(sum) else { break }
      let block = try place.files.readBytes(files.part, count: length, at: Int64(good.written))
      guard good.sum(of: block) == sum else { break }
      good.append(block)
    }
    try cut(to: good)
  }

  /// Adds bytes, without blocking.
  ///
  /// - Returns: whether there is a whole block now, which ``flush()`` should write.
  func gather(_ bytes: [UInt8]) -> Bool {
    content.gathered += bytes
    return content.gathered.count >= PartContent.blockBytes
  }

  func flush() throws(SystemError) {
    while !content.gathered.isEmpty {
      let block = Array(content.gathered.prefix(PartContent.blockBytes))
      try write(block)
      content.gathered.removeFirst(block.count)
    }
  }

  /// Returns the digest of all bytes, once; `nil` if none is computed.
  func finishDigest() -> [UInt8]? { content.finishDigest() }

  private func cut(to content: PartContent) throws(SystemError) {
    // Sums that are left belong to bytes that are gone, or to another record.
    try place.files.truncate(files.part, to: Int64(content.written))
    self.content = content
  }

  private func write(_ block: [UInt8]) throws(SystemError) {
    try place.files.write(files.part, block, at: Int64(content.written))
    try place.files.write(files.sums, content.sum(of: block), at: content.sumsLength)
    content.append(block)
  }
}
