import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import TestSupport

/// A directory for one test, with room for a store and for things beside it; removed at the end.
final class StoreSandbox: Sendable {
  private let folder = TemporaryFolder()

  /// The directory of the test.
  var path: String { folder.path }

  /// The path of the store.
  var root: String { path + "/store" }

  /// Opens the store. Most tests look at files, so entries are settled at once.
  func open(
    _ options: Options = Options(), settling: Settling = .atOnce
  ) throws(StoreError) -> Store {
    var options = options
    options.settling = settling
    return try Store(at: root, options: options)
  }

  /// A path below the store.
  func inside(_ name: String) -> String { "\(root)/\(name)" }

  /// What stands in the store, by its path from the root; links are not followed.
  func tree(_ below: String = "") -> [String: FileFacts] {
    let start = below.isEmpty ? root : inside(below)
    let names = FileManager.default.enumerator(atPath: start)
    var found: [String: FileFacts] = [:]
    while let name = names?.nextObject() as? String {
      found[below.isEmpty ? name : "\(below)/\(name)"] = FileFacts("\(start)/\(name)")
    }
    return found
  }

  /// The paths of the bodies that are in the tree of entries.
  var bodies: [String] { tree("entries").keys.filter { $0.hasSuffix(".body") }.sorted() }

  /// The paths of the metadata files that are in the tree of entries.
  var metadataFiles: [String] { tree("entries").keys.filter { $0.hasSuffix(".json") }.sorted() }

  /// The paths of the journal's segments.
  var segments: [String] { tree("journal").keys.sorted() }

  /// The names of the directories that were set aside.
  var quarantined: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: inside("quarantine"))) ?? []).sorted()
  }

  /// The names of the sessions' directories.
  var sessions: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: inside("staging"))) ?? []).sorted()
  }

  /// The bytes of a file below the store.
  func bytes(_ name: String) -> [UInt8] {
    [UInt8](FileManager.default.contents(atPath: inside(name)) ?? Data())
  }

  /// Overwrites a file below the store in place.
  func overwrite(_ name: String, _ bytes: [UInt8]) {
    let handle = FileHandle(forWritingAtPath: inside(name))
    try? handle?.truncate(atOffset: 0)
    try? handle?.write(contentsOf: Data(bytes))
    try? handle?.close()
  }

  /// Inverts one bit of a file below the store in place.
  func flip(_ name: String, at offset: Int) {
    var bytes = bytes(name)
    bytes[offset] ^= 0x10
    overwrite(name, bytes)
  }

  func remove(_ name: String) { try? FileManager.default.removeItem(atPath: inside(name)) }

  /// Plants a symbolic link in place of what is there.
  func plantLink(_ name: String, to target: String) throws {
    remove(name)
    try FileManager.default.createSymbolicLink(
      atPath: inside(name), withDestinationPath: target)
  }
}

/// What lstat(2) says of a file.
struct FileFacts: Hashable {
  var inode: UInt64 = 0
  var links: UInt64 = 0
  var length: Int = 0
  var allocated: UInt64 = 0
  var modified: Int64 = 0
  var mode: UInt32 = 0
  var isDirectory = false
  var isLink = false

  init?(_ path: String) {
    var found = stat()
    guard unsafe lstat(path, &found) == 0 else { return nil }
    inode = UInt64(found.st_ino)
    links = UInt64(found.st_nlink)
    length = Int(found.st_size)
    allocated = UInt64(found.st_blocks) * 512
    #if canImport(Darwin)
      let time = found.st_mtimespec
    #else
      let time = found.st_mtim
    #endif
    modified = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    mode = UInt32(found.st_mode & 0o7777)
    isDirectory = found.st_mode & S_IFMT == S_IFDIR
    isLink = found.st_mode & S_IFMT == S_IFLNK
  }
}

/// The error that a call is expected to throw; cause and remedy are words for people.
func failure(_ code: StoreError.Code, _ path: String, errno: Int32 = 0) -> StoreError {
  StoreError(code, path: path, errno: errno, cause: "", remedy: "")
}
