import CacheFormat
import CacheStore

private let pieceBytes = 1 << 20

extension Bench {
  /// Streams one large body in and out of a store, each time in a new process.
  func large() throws {
    guard configuration.systems.contains(.store) else { return }
    let size = configuration.body ?? 2 << 30
    let runs = try (0..<3).map { _ in try streamOnce(size) }
    let memory = median(runs.map { Double($0[2]) })
    let rows = ["large-write", "large-read"].enumerated().compactMap { column, work in
      var series = Series()
      for run in runs { series.add(slice: [run[column]], wall: run[column]) }
      return series.summary().map { summary in
        Row(
          work: work, system: .store, entries: 1, body: size, summary: summary,
          bytesPerEntry: memory, seconds: summary.sliceMean / 1e9)
      }
    }
    report.print(
      "large: one body of \(grouped(size)) bytes, three times", rows,
      notes: rows.map { row in
        "\(row.work): "
          + "\(grouped(Int(Double(size) / 1e6 / max(1e-9, row.seconds ?? 0)))) MB/s, "
          + "\(fixed(memory / 1048576, 1)) MiB of memory at most"
      })
  }

  private func streamOnce(_ size: Int) throws -> [UInt64] {
    let directory = try workspace.makeDirectory("large")
    defer { workspace.remove(directory) }
    return try runChild(.large, [directory, String(size), String(configuration.seed)], numbers: 3)
  }
}

/// Streams a body in and out; prints nanoseconds of both and the most resident memory in bytes.
func runLarge(_ arguments: [String]) throws {
  guard arguments.count == 3, let size = Int(arguments[1]), let seed = UInt64(arguments[2]) else {
    throw BenchmarkError("cachebench: this process needs folder, size and seed")
  }
  let store = try Store(at: arguments[0] + "/store")
  let key = ByteString("GET https://example.com/large.iso")
  var piece = Corpus(seed: seed, bodyBytes: pieceBytes).body(EntryID(index: 0))
  let start = MonotonicClock.now()
  let writer = try store.makeWriter(for: key)
  try forEachPiece(size, &piece) { try writer.write($0) }
  try writer.commit()
  let written = MonotonicClock.now()
  FileTree.writeBack()
  let reading = MonotonicClock.now()
  guard case .hit(_, let reader) = store.read(key) else {
    throw BenchmarkError.wrongAnswer(system: "store", key: key.description)
  }
  var count = 0
  while case let piece = try reader.read(upTo: pieceBytes), !piece.isEmpty { count += piece.count }
  let end = MonotonicClock.now()
  guard count == size else { throw BenchmarkError("store: read \(count) of \(size) bytes") }
  emit("\(written - start) \(end - reading) \(Memory.peakResidentBytes())\n")
}

/// Calls `write` with pieces that add up to a size; every piece begins with its number.
private func forEachPiece(
  _ size: Int, _ piece: inout [UInt8],
  _ write: ([UInt8]) throws -> Void
) throws {
  var rest = size
  var number: UInt64 = 0
  while rest > 0 {
    for byte in 0..<min(8, piece.count) {
      piece[byte] = UInt8(truncatingIfNeeded: number >> UInt64(8 * byte))
    }
    if rest < piece.count { piece.removeLast(piece.count - rest) }
    try write(piece)
    rest -= piece.count
    number += 1
  }
}
