import CacheFormat
import CacheStore
import CacheSystem

/// Bugs that can be switched on by STOREPROBE_BUG, so that whoever looks for failures shows that it is
/// not blind. None of them is in the store: they lie in the file system below it (`PlantedFiles`), or
/// in what the probe does with it.
enum PlantedBug: String, CaseIterable {
  case nofsync
  case nodirsync
  /// Bodies and segments are not synced: the data of files.
  case nodatasync
  /// A change is promised before it is made.
  case ackearly
  /// Errors of calls that change something are taken for success.
  case ignoreerr
  /// An interrupted call counts as failed.
  case nointr
  /// A short write counts as a whole one.
  case shortok
  /// A new body takes the place of the old one before the journal says so.
  case inplace
  /// What stands on the disk is read without being checked.
  case nocrc
  case nolock
  /// Records are appended behind what a killed process has left.
  case tornblind
  case followlinks
  /// A repair says that all is well, and has done nothing.
  case badrepair
  /// The process traps when all has been promised.
  case trap

  private static let on = Set(
    environment("STOREPROBE_BUG").split(separator: ",").map { name in
      PlantedBug(rawValue: String(name)) ?? { stop(2, "STOREPROBE_BUG: no such bug: \(name)") }()
    })

  static func isOn(_ bug: PlantedBug) -> Bool { on.contains(bug) }

  static var fileSystem: any FileSystem { on.isEmpty ? RealFileSystem() : PlantedFiles() }

  /// Looks a key up, or, with `nocrc`, gives what stands in its file.
  static func lookUp(
    _ key: String, in store: Store, at path: String
  ) -> (info: EntryInfo, body: [UInt8])? {
    let info = store.info(for: ByteString(key))
    if isOn(.nocrc), let info, let body = UncheckedRead(path: path).body(of: key, info) {
      return (info, body)
    }
    guard let entry = store.lookUp(ByteString(key)).entry else { return nil }
    return (entry.info, entry.body)
  }
}

private struct UncheckedRead {
  let path: String
  private let system = RealFileSystem()

  func body(of key: String, _ info: EntryInfo) -> [UInt8]? {
    guard let root = try? system.open(userPath: path, [.read, .directory]),
      let name = PathName(bytes: Array("store.json".utf8)),
      let file = try? system.open(name, in: root, [.read]),
      let bytes = try? system.readBytes(file, count: StoreDescription.maximumBytes, at: 0),
      let seed = try? StoreDescription(decoding: bytes).hashSeed
    else { return nil }
    let hash = KeyHash(hashing: ByteString(key), seed: seed)
    let place = "entries/\(hash.shardName)/\(hash.directoryName)/\(info.digest).body"
    guard let name = PathName(bytes: Array(place.utf8)),
      let body = try? system.open(name, in: root, [.read])
    else { return nil }
    return try? system.readBytes(body, count: Int(info.length), at: 0)
  }
}
