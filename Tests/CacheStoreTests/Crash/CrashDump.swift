import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles

/// What a failure of a crash loop prints: the files of a volume, and the records of the journal.
struct CrashDump {
  private let volume: SimulatedVolume
  private let process: SimulatedProcess

  init(_ volume: SimulatedVolume) {
    self.volume = volume.copy()
    process = SimulatedProcess(on: self.volume)
  }

  var lines: [String] {
    let files = volume.tree.filter { $0.value.kind == .file }.sorted { $0.key < $1.key }
    let store = CrashScenario.path.dropFirst()
    guard let description = try? StoreDescription(decoding: bytes("\(store)/store.json"))
    else { return files.map { "\($0.key) \($0.value.length)" } }
    return files.flatMap { path, status in
      ["\(path) \(status.length)"]
        + (path.hasSuffix(".log") ? records(path, hashSeed: description.hashSeed) : [])
    }
  }

  private func bytes(_ path: String) throws -> [UInt8] {
    let file = try process.open(userPath: "/\(path)", [.read])
    return try process.readBytes(file, count: Int(volume.tree[path]?.length ?? 0), at: 0)
  }

  private func records(_ path: String, hashSeed: UInt64) -> [String] {
    guard let number = UInt32(path.dropLast(4).suffix(8)),
      let file = try? process.open(userPath: "/\(path)", [.read])
    else { return ["  unreadable"] }
    var lines: [String] = []
    var reader = SegmentReader(number, hashSeed: hashSeed, from: Int64(SegmentHeader.count))
    try? reader.read(file, upTo: Int64(volume.tree[path]?.length ?? 0), process) { item in
      switch item {
      case .record(let header, _, let place):
        lines.append("  \(place): \(header.sequence) \(header.type), \(header.bodyCount) of body")
      case .damage(let range): lines.append("  \(range): damage")
      case .tail(let range): lines.append("  \(range): tail")
      }
      return true
    }
    return lines
  }
}
