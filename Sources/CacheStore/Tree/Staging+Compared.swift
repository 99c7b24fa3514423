internal import CacheFormat
internal import CacheSystem

// How far tree and journal were compared after a crash. Each short-lived program compares for a second,
// and the next one continues. A session has a file `compared` with the shards that are as the journal has
// them; a process that is killed later leaves a session without one, so all are compared again.
extension Staging {
  private static let compared = PathName("compared")
  private static let longestCompared = 8 + Layout.shardCount

  /// Returns whether a file in a session has the shards that were compared.
  static func isCompared(_ name: PathName) -> Bool { name.bytes == compared.bytes }

  /// Returns the shards that were compared since the processes of all these sessions were killed, and in
  /// this run of the machine.
  func comparedShards(since dead: [PathName]) -> Set<Int> {
    var shards: Set<Int>?
    for session in dead {
      let found = comparedShards(in: session)
      shards = shards?.intersection(found) ?? found
    }
    return shards ?? []
  }

  private func comparedShards(in session: PathName) -> Set<Int> {
    guard let directory = try? fileSystem.open(session, in: place.staging, [.read, .directory]),
      let bytes = try? fileSystem.readFile(
        Self.compared, in: directory, limit: Self.longestCompared),
      boot != 0, bytes.starts(with: bootBytes)
    else { return [] }
    return Set(bytes.dropFirst(bootBytes.count).map(Int.init))
  }

  /// Notes the shards that were compared. If that fails, they are compared again.
  func noteCompared(_ shards: Set<Int>, since dead: [PathName]) {
    for session in dead {
      guard let directory = try? fileSystem.open(session, in: place.staging, [.read, .directory])
      else { continue }
      try? fileSystem.removeFile(Self.compared, in: directory.raw)
      guard
        let file = try? fileSystem.open(
          Self.compared, in: directory, [.write, .create, .exclusive])
      else { continue }
      try? fileSystem.write(file, bootBytes + shards.map { UInt8($0) })
    }
  }

  private var bootBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: boot >> (8 * $0)) } }
}
