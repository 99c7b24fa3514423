internal import CacheSystem

/// The state of a database's write-ahead log, from the files beside it (sqlite.org/walformat.html).
///
/// On a phone all rows may be in the -wal. If it is missing or truncated, SQLite returns the rows
/// it has without an error, perhaps none.
struct WriteAheadLog {
  private let name: String
  private let isUsed: Bool
  private let frameBytes: UInt64
  private let length: UInt64?
  private let hasIndex: Bool
  /// The number of frames that the -wal has according to the -shm; 0 if the -shm does not state it.
  private let indexedFrames: UInt64

  private static let headerBytes: UInt64 = 32

  init(of path: String, _ header: DatabaseHeader) {
    let files = RealFileSystem()
    name = UserPath.split(path).name
    isUsed = !header.isRollbackMode
    frameBytes = header.pageBytes + 24
    length = Self.open(path + "-wal").flatMap { try? files.status(of: $0.descriptor.raw).length }
    let index = Self.open(path + "-shm")
    hasIndex = index != nil
    let bytes = index.flatMap { try? files.readBytes($0.descriptor, count: 20, at: 0) } ?? []
    // The version and the flag of a complete header; then the number of the last frame.
    let isIndex = bytes.count == 20 && Self.number(bytes[0..<4]) == 3_007_000 && bytes[12] == 1
    indexedFrames = isIndex ? Self.number(bytes[16..<20]) : 0
  }

  /// Returns the reasons why rows may be missing, as text.
  ///
  /// - Parameter isEmpty: Whether the database has no rows.
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

  /// Returns a number of the index. It is in the byte order of the machine that wrote it, which was
  /// little-endian.
  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
