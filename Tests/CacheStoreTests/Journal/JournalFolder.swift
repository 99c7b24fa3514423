import CacheFormat
import CacheStore
import Foundation
import TestSupport

/// A store's directory for one test, whose journal is read and damaged from outside.
final class JournalFolder: Sendable {
  /// The directory of the test; the store is below it.
  private let parent = TemporaryFolder()

  /// The path of the store.
  var path: String { parent.path + "/store" }

  init() {}

  /// Copies a store that is not open. Files of entries are linked: they are never changed in place.
  convenience init(copying other: JournalFolder) throws {
    self.init()
    let files = FileManager.default
    try files.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for name in ["store.json", "lock", "journal"] {
      try files.copyItem(atPath: "\(other.path)/\(name)", toPath: "\(path)/\(name)")
    }
    try files.linkItem(atPath: other.path + "/entries", toPath: path + "/entries")
  }

  func open(_ options: Options = Options()) throws(StoreError) -> Store {
    var options = options
    options.settling = .atOnce
    return try Store(at: path, options: options)
  }

  /// The names of the segments, oldest first.
  var segments: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path + "/journal")) ?? []
    return names.filter { $0.hasSuffix(".log") }.sorted()
  }

  func bytes(_ segment: String) -> [UInt8] {
    [UInt8](FileManager.default.contents(atPath: "\(path)/journal/\(segment)") ?? Data())
  }

  /// The bytes of a file that was set aside as no part of a store.
  func quarantined(_ name: String) -> [UInt8]? {
    let files = FileManager.default
    return (try? files.contentsOfDirectory(atPath: path + "/quarantine"))?.lazy
      .compactMap { files.contents(atPath: "\(self.path)/quarantine/\($0)/files/\(name)") }
      .first.map { [UInt8]($0) }
  }

  func write(_ bytes: [UInt8], to segment: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/journal/\(segment)"))
  }

  func remove(_ segment: String) throws {
    try FileManager.default.removeItem(atPath: "\(path)/journal/\(segment)")
  }

  /// The bytes of all segments.
  var journalBytes: Int { segments.reduce(0) { $0 + bytes($1).count } }

  /// Leaves what a killed process leaves: a session that nobody holds, and no closing mark.
  func leaveDeadSession() throws {
    try Data().write(to: URL(fileURLWithPath: "\(path)/lock"))
    try FileManager.default.createDirectory(
      atPath: path + "/staging/00000000deadbeef", withIntermediateDirectories: true)
  }

  /// The number of entries, as a store for reading only counts them.
  var entryCount: Int {
    (try? open(Options(isReadOnly: true)).statistics.entries) ?? -1
  }

  /// The number of directories of keys.
  var keyDirectories: Int {
    let files = FileManager.default
    let shards = (try? files.contentsOfDirectory(atPath: path + "/entries")) ?? []
    return shards.reduce(0) {
      $0 + ((try? files.contentsOfDirectory(atPath: "\(path)/entries/\($1)"))?.count ?? 0)
    }
  }

  /// Where the records of an undamaged segment stand.
  func records(in segment: String) -> [(offset: Int, header: RecordFrame.Header)] {
    let bytes = bytes(segment)
    guard case .header(let header) = SegmentHeader.read(bytes) else { return [] }
    var records: [(offset: Int, header: RecordFrame.Header)] = []
    var offset = SegmentHeader.count
    while offset < bytes.count {
      let seed = RecordFrame.seed(
        hashSeed: header.hashSeed, segment: header.number, offset: UInt64(offset))
      // Safety: the array outlives the call.
      let reading = unsafe bytes.withUnsafeBytes {
        unsafe RecordFrame.read($0, at: offset, seed: seed)
      }
      guard case .record(let found) = reading else { return records }
      records.append((offset, found))
      offset += found.length
    }
    return records
  }

  /// Appends a record to a segment, as a newer version might.
  func append(_ type: RecordType, payload: [UInt8], to segment: String) throws {
    let bytes = bytes(segment)
    guard case .header(let header) = SegmentHeader.read(bytes) else { return }
    var record = RecordFrame.begin(type, reserving: payload.count)
    record += payload
    RecordFrame.pad(&record)
    let seed = RecordFrame.seed(
      hashSeed: header.hashSeed, segment: header.number, offset: UInt64(bytes.count))
    let last = records(in: segment).last?.header.sequence ?? 0
    RecordFrame.place(&record, sequence: last + 1, seed: seed)
    try write(bytes + record, to: segment)
  }
}
