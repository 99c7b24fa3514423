internal import CacheSystem

/// What the files beside a database tell of its write-ahead log (sqlite.org/walformat.html).
///
/// On a phone all rows may be in the -wal. Where it was left behind or cut off, SQLite shows what it has
/// without a complaint, perhaps nothing.
struct WriteAheadLog {
  private let name: String
  private let isUsed: Bool
  private let frameBytes: UInt64
  /// The length of the -wal; nil where there is none.
  private let length: UInt64?
  /// Whether there is a -shm.
  private let hasIndex: Bool
  /// How many frames the -shm says that the -wal has; 0 where it does not tell.
  private let indexedFrames: UInt64

  private static let headerBytes: UInt64 = 32

  /// Looks beside a database.
  init(of path: String, _ header: DatabaseHeader) {
    let files = RealFileSystem()
    name = SourceLocation.split(path).name
    isUsed = !header.isRollbackMode
    frameBytes = header.pageBytes + 24
    length = Self.open(path + "-wal").flatMap { try? files.status(of: $0.descriptor.raw).length }
    let index = Self.open(path + "-shm")
    hasIndex = index != nil
    let bytes = index.flatMap { try? files.readBytes($0.descriptor, count: 20, at: 0) } ?? []
    // The version, and whether it is complete; then the number of the last frame.
    let isIndex = bytes.count == 20 && Self.number(bytes[0..<4]) == 3_007_000 && bytes[12] == 1
    indexedFrames = isIndex ? Self.number(bytes[16..<20]) : 0
  }

  /// Why rows may be missing, in words.
  ///
  /// - Parameter isEmpty: whether the database shows no rows.
  func warnings(isEmpty: Bool) -> [String] {
    guard isUsed else { return [] }
    guard let length, length > 0 else {
      if hasIndex && (length == nil || indexedFrames > 0) {
        return ["\(name)-wal is missing, and rows may be with it: copy it along with \(name)"]
      }
      guard isEmpty else { return [] }
      return ["it has no rows; if there was a \(name)-wal where it comes from, copy it along"]
    }
    let frames = length < Self.headerBytes ? 0 : (length - Self.headerBytes) / frameBytes
    let isWhole = length >= Self.headerBytes && (length - Self.headerBytes) % frameBytes == 0
    if isWhole && frames >= indexedFrames { return [] }
    return ["\(name)-wal is cut off, and rows may be missing: copy it again"]
  }

  private static func open(_ path: String) -> OpenFile? {
    try? OpenFile(RealFileSystem().open(userPath: path, [.read]))
  }

  /// The index is in the byte order of the machine that wrote it, which was little-endian.
  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
