import CacheStore
import CacheSystem
import Foundation

/// Makes a store in a directory of its own, which goes away with it.
final class TemporaryStore {
  let path: String
  let store: Store

  init(memoryBytes: Int = 0) throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("client-\(UUID().uuidString)").path
    store = try Store(at: path, options: Options(memoryBytes: memoryBytes))
  }

  deinit {
    store.close()
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Changes one byte in the middle of every stored body.
  ///
  /// - Returns: the number of bodies.
  func damageBodies() throws -> Int {
    let entries = FileManager.default.enumerator(atPath: path + "/entries")
    var count = 0
    for case let name as String in entries ?? .init() where name.hasSuffix(".body") {
      let file = "\(path)/entries/\(name)"
      var data = try Data(contentsOf: URL(fileURLWithPath: file))
      data[data.count / 2] ^= 0xFF
      try data.write(to: URL(fileURLWithPath: file))
      count += 1
    }
    return count
  }

  /// Names what lies under a part of the store.
  func names(in part: String) -> [String] {
    (try? FileManager.default.subpathsOfDirectory(atPath: "\(path)/\(part)")) ?? []
  }
}

/// Stands still at a moment of the test's choice.
struct FixedClock: WallClock {
  let nanoseconds: Int64

  func now() -> Int64 { nanoseconds }
}
