import CacheFormat
import CacheSystem
import MessageDigests

/// Holds the bytes of a download that have come so far, in order, and a sum of each block of them.
///
/// Whoever goes on believes what has its sum, and nothing else: that covers kills, loss of power and
/// changes by others without a sync while it grows. The sums are those of one record: whatever order
/// the files reach the disk in, bytes of another answer have none. The file is locked until ``close()``.
/// Blocking calls.
final class PartFile: @unchecked Sendable {
  // Unchecked: one call at a time; the download waits for each before it makes the next.

  /// How many bytes are written at once, and may be lost by a kill.
  static let blockBytes = 256 << 10
  /// One sum: where the block ends, and its digest, little-endian.
  private static let sumBytes = 24

  private final class Files {
    let part: Descriptor
    let sums: Descriptor

    init(_ part: consuming Descriptor, _ sums: consuming Descriptor) {
      self.part = part
      self.sums = sums
    }
  }

  let place: DownloadPlace
  /// The open files; nil after ``close()``.
  private var opened: Files?
  private var written: UInt64 = 0
  private var sumsLength: Int64 = 0
  private var gathered: [UInt8] = []
  /// Tells the record that the sums go with.
  private var mark: [UInt8] = []
  private var digest: MessageDigest?

  private init(_ place: DownloadPlace, _ part: consuming Descriptor, _ sums: consuming Descriptor) {
    self.place = place
    opened = Files(part, sums)
  }

  /// Closes the files, and lets go of the lock. References to this may live on: they are in closures that
  /// other threads drop later.
  func close() { opened = nil }

  private var files: Files {
    guard let opened else { preconditionFailure("a part was used after it was closed") }
    return opened
  }

  /// Takes the lock of the part, and makes the file where there is none.
  ///
  /// - Returns: nil where another has the lock.
  static func open(_ place: DownloadPlace) throws(SystemError) -> PartFile? {
    while true {
      // The part becomes the target, and has its mode.
      let part = try place.open(place.part, mode: 0o666)
      guard try place.files.tryLock(part) else {
        // Another user's end is not waited for: it may never come, and the file would not count.
        guard try place.files.status(of: part.raw).isOwnFile else { throw .othersFile }
        return nil
      }
      guard try isOurs(part, place.part, place) else { continue }
      while true {
        let sums = try place.open(place.sums, mode: 0o600)
        if try isOurs(sums, place.sums, place, isPrivate: true) {
          return PartFile(place, part, sums)
        }
      }
    }
  }

  /// Tells whether a name still stands for the file that was opened: who held the lock before may have
  /// put it in place, or removed it. A file with a second name is somebody's copy, which must not
  /// change, and one of another user may say anything: those are left alone.
  ///
  /// - Parameter isPrivate: Whether the file must be one that nobody else may write to. The sums must,
  ///   so that a part which others may write to is believed as far as this user has written it.
  /// - Throws: `EPERM` where the folder keeps the file of another user.
  private static func isOurs(
    _ file: borrowing Descriptor, _ name: PathName, _ place: DownloadPlace,
    isPrivate: Bool = false
  ) throws(SystemError) -> Bool {
    let opened = try place.files.status(of: file.raw)
    guard opened.kind == .file else { throw .notAFile }
    guard place.status(name)?.fileNumber == opened.fileNumber else { return false }
    let isOwn = isPrivate ? opened.isPrivateFile : opened.isOwnFile
    if isOwn, opened.linkCount == 1 { return true }
    try place.files.removeFile(name, in: place.folder)
    return false
  }

  /// Counts the bytes that have come, those that wait to be written included.
  var length: UInt64 { written + UInt64(gathered.count) }

  /// Begins with nothing.
  ///
  /// - Parameters:
  ///   - record: What the bytes that come belong to; nil: none come.
  ///   - algorithm: The digest that is made of the bytes as they come; nil: none.
  func restart(for record: DownloadRecord? = nil, _ algorithm: DigestAlgorithm? = nil)
    throws(SystemError)
  {
    begin(record, algorithm)
    try cut(to: 0, sumsLength: 0)
  }

  private func begin(_ record: DownloadRecord?, _ algorithm: DigestAlgorithm?) {
    gathered = []
    mark = record?.mark ?? []
    digest = algorithm.map { MessageDigest($0) }
  }

  /// Goes on with what is there: cuts it off at the first block that is not what its sum says.
  ///
  /// - Parameters:
  ///   - record: What the bytes have to belong to.
  ///   - algorithm: The digest that is made of the bytes; nil: none.
  ///   - isGivenUp: Asked now and then; true ends it, with all files as they were.
  /// - Returns: whether it came to its end.
  /// - Complexity: O(length), in memory of a block.
  func recover(
    for record: DownloadRecord, _ algorithm: DigestAlgorithm?, unless isGivenUp: () -> Bool
  ) throws(SystemError) -> Bool {
    begin(record, algorithm)
    let end = try place.files.status(of: files.part.raw).length
    var good: UInt64 = 0
    var goodSums: Int64 = 0
    while let sum = try nextSum(at: goodSums) {
      if isGivenUp() { return false }
      let blockEnd = Self.number(sum)
      guard blockEnd > good, blockEnd <= end, blockEnd - good <= UInt64(Self.blockBytes) else {
        break
      }
      let block = try place.files.readBytes(
        files.part, count: Int(blockEnd - good), at: Int64(good))
      guard self.sum(of: block, end: blockEnd) == sum else { break }
      digest?.update(block)
      good = blockEnd
      goodSums += Int64(Self.sumBytes)
    }
    try cut(to: good, sumsLength: goodSums)
    return true
  }

  /// Takes bytes, and does not block.
  ///
  /// - Returns: whether there is a block of them now, which ``flush()`` should write.
  func gather(_ bytes: [UInt8]) -> Bool {
    gathered += bytes
    return gathered.count >= Self.blockBytes
  }

  /// Writes what was gathered.
  func flush() throws(SystemError) {
    var start = 0
    while start < gathered.count {
      let end = min(start + Self.blockBytes, gathered.count)
      try write(start == 0 && end == gathered.count ? gathered : Array(gathered[start..<end]))
      start = end
    }
    gathered.removeAll(keepingCapacity: true)
  }

  /// Returns the digest of all bytes, once; nil where none was asked for.
  func finishDigest() -> [UInt8]? {
    defer { digest = nil }
    return digest?.finish()
  }

  /// Makes the bytes survive loss of power.
  func synchronize() throws(SystemError) {
    try place.files.synchronize(files.part, names: true)
  }

  /// Gives what fstat(2) says of the part; nil where its name stands for another file by now, or it is
  /// not as long as what was written: somebody else was there.
  func status() throws(SystemError) -> FileStatus? {
    let status = try place.files.status(of: files.part.raw)
    guard status.length == written, place.status(place.part)?.fileNumber == status.fileNumber
    else { return nil }
    return status
  }

  /// Tells whether nothing has ever come.
  func isEmpty() throws(SystemError) -> Bool {
    try place.files.status(of: files.part.raw).length == 0
  }

  /// Gives it the name of the target. Call ``status()`` first.
  func moveIntoPlace() throws(SystemError) {
    removeCompanions()
    try place.movePartIntoPlace()
  }

  /// Removes it with all that tells of it; nothing where somebody else has done so before.
  func remove() {
    guard let opened = try? place.files.status(of: files.part.raw),
      place.status(place.part)?.fileNumber == opened.fileNumber
    else { return }
    removeCompanions()
    place.remove(place.part)
  }

  /// The same, unless it was begun for another URL.
  func remove(of url: String) {
    if place.record(.unfinished)?.url ?? url == url { remove() }
  }

  /// The same, if nothing was begun with it.
  func removeIfUnused() {
    if place.record(.unfinished) == nil, (try? isEmpty()) == true { remove() }
  }

  /// Before its own name goes: from then on another process may begin, with files of the same names.
  private func removeCompanions() {
    place.remove(place.sums)
    place.removeRecord(.unfinished)
  }

  private func cut(to length: UInt64, sumsLength: Int64) throws(SystemError) {
    try place.files.truncate(files.sums, to: sumsLength)
    try place.files.truncate(files.part, to: Int64(length))
    written = length
    self.sumsLength = sumsLength
  }

  private func write(_ block: [UInt8]) throws(SystemError) {
    let end = written + UInt64(block.count)
    try place.files.write(files.part, block, at: Int64(written))
    try place.files.write(files.sums, sum(of: block, end: end), at: sumsLength)
    digest?.update(block)
    written = end
    sumsLength += Int64(Self.sumBytes)
  }

  /// Reads the sum at an offset; nil where there is no whole one.
  private func nextSum(at offset: Int64) throws(SystemError) -> [UInt8]? {
    let sum = try place.files.readBytes(files.sums, count: Self.sumBytes, at: offset)
    return sum.count == Self.sumBytes ? sum : nil
  }

  private func sum(of block: [UInt8], end: UInt64) -> [UInt8] {
    var hasher = DigestHasher()
    hasher.update(mark)
    hasher.update(block)
    let digest = hasher.digest()
    return [end, digest.high, digest.low].flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }
  }

  private static func number(_ bytes: [UInt8]) -> UInt64 {
    bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
