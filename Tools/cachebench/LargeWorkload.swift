import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import CommandLineTools

/// How much is written or read in one call.
private let pieceBytes = 1 << 20

extension Bench {
  /// Streams one large body in and out, each system in a process of its own.
  func large() throws(BenchmarkError) {
    let size = configuration.body ?? 2 << 30
    let systems = [SystemName.store, .floor].filter { configuration.systems.contains($0) }
    var measured: [SystemName: [[UInt64]]] = [:]
    for _ in 0..<3 {
      for system in systems {
        measured[system, default: []].append(try streamOnce(system, size))
      }
    }
    var rows: [Row] = []
    for (column, work) in ["large-write", "large-read"].enumerated() {
      for system in systems {
        rows += largeRow(work, system, size, measured[system] ?? [], column).map { [$0] } ?? []
      }
    }
    report.print(
      "large: one body of \(grouped(size)) bytes, three times", rows,
      notes: rows.map { row in
        "\(row.work), \(row.system.rawValue): "
          + "\(grouped(Int(Double(size) / 1e6 / max(1e-9, row.seconds ?? 0)))) MB/s, "
          + "\(fixed((row.bytesPerEntry ?? 0) / 1048576, 1)) MiB of memory at most"
      })
  }

  private func streamOnce(_ system: SystemName, _ size: Int) throws(BenchmarkError) -> [UInt64] {
    let directory = try workspace.makeDirectory("large-\(system.rawValue)")
    defer { workspace.remove(directory) }
    return try runChild(
      .large, [system.rawValue, directory, String(size), String(configuration.seed)], numbers: 3)
  }

  private func largeRow(
    _ work: String, _ system: SystemName, _ size: Int, _ runs: [[UInt64]], _ column: Int
  ) -> Row? {
    var series = Series()
    for run in runs { series.add(slice: [run[column]], wall: run[column]) }
    return series.summary().map { summary in
      Row(
        work: work, system: system, entries: 1, body: size, summary: summary,
        bytesPerEntry: median(runs.map { Double($0[2]) }), seconds: summary.sliceMean / 1e9)
    }
  }
}

/// Streams a body in and out; prints nanoseconds of both and the most resident memory in bytes.
func runLarge(_ arguments: [String]) throws(BenchmarkError) {
  guard arguments.count == 4, let size = Int(arguments[2]), let seed = UInt64(arguments[3]) else {
    throw .usage("cachebench: this process needs system, folder, size and seed")
  }
  let stream: any LargeBody =
    arguments[0] == SystemName.store.rawValue
    ? try StoreBody(arguments[1]) : PlainFile(arguments[1])
  var piece = Corpus(seed: seed, bodyBytes: pieceBytes).body(EntryID(index: 0))
  let start = MonotonicClock.now()
  try stream.write(size, &piece)
  let written = MonotonicClock.now()
  FileTree.writeBack()
  let reading = MonotonicClock.now()
  let count = try stream.read()
  let end = MonotonicClock.now()
  guard count == size else { throw .failed("\(arguments[0]): read \(count) of \(size) bytes") }
  emit("\(written - start) \(end - reading) \(Memory.peakResidentBytes())\n")
}

/// A place for one large body.
private protocol LargeBody {
  /// Writes `size` bytes, piece by piece.
  func write(_ size: Int, _ piece: inout [UInt8]) throws(BenchmarkError)
  /// Reads everything and returns how much it was.
  func read() throws(BenchmarkError) -> Int
}

/// Calls `write` with pieces that add up to a size; every piece begins with its number.
private func forEachPiece(
  _ size: Int, _ piece: inout [UInt8],
  _ write: ([UInt8]) throws(BenchmarkError) -> Void
) throws(BenchmarkError) {
  var rest = size
  var number: UInt64 = 0
  while rest > 0 {
    try Interrupt.check()
    for byte in 0..<min(8, piece.count) {
      piece[byte] = UInt8(truncatingIfNeeded: number >> UInt64(8 * byte))
    }
    if rest < piece.count { piece.removeLast(piece.count - rest) }
    try write(piece)
    rest -= piece.count
    number += 1
  }
}

/// The store's writer and reader.
private struct StoreBody: LargeBody {
  private let system: StoreSystem
  private let key = ByteString("GET https://example.com/large.iso")

  init(_ directory: String) throws(BenchmarkError) {
    system = try StoreSystem(path: directory, corpus: Corpus(seed: 1, bodyBytes: 0))
  }

  func write(_ size: Int, _ piece: inout [UInt8]) throws(BenchmarkError) {
    let writer = try described { () throws(StoreError) in
      try system.store.makeWriter(for: key)
    }
    try forEachPiece(size, &piece) { bytes throws(BenchmarkError) in
      try described { () throws(StoreError) in try writer.write(bytes) }
    }
    _ = try described { () throws(StoreError) in try writer.commit() }
  }

  func read() throws(BenchmarkError) -> Int {
    guard case .hit(_, let reader) = system.store.read(key) else {
      throw .wrongAnswer(system: "store", key: key.description)
    }
    var count = 0
    while true {
      let piece = try described { () throws(StoreError) in try reader.read(upTo: pieceBytes) }
      if piece.isEmpty { return count }
      count += piece.count
    }
  }
}

/// A file, written and read with bare calls.
private struct PlainFile: LargeBody {
  private let path: String

  init(_ directory: String) {
    path = directory + "/body"
  }

  func write(_ size: Int, _ piece: inout [UInt8]) throws(BenchmarkError) {
    // Safety: path and pieces live for the calls, and their lengths are passed along.
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .failed("\(path): \(SystemError(errno).description)") }
    defer { close(file) }
    try forEachPiece(size, &piece) { bytes throws(BenchmarkError) in
      #if canImport(Darwin)
        let written = unsafe Darwin.write(file, bytes, bytes.count)
      #else
        let written = unsafe Glibc.write(file, bytes, bytes.count)
      #endif
      guard written == bytes.count else {
        throw .failed("\(path): \(SystemError(errno).description)")
      }
    }
  }

  func read() throws(BenchmarkError) -> Int {
    // Safety: path and buffer live for the calls, and the buffer's length is passed along.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .failed("\(path): \(SystemError(errno).description)") }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: pieceBytes)
    var total = 0
    while true {
      #if canImport(Darwin)
        let count = unsafe Darwin.read(file, &buffer, buffer.count)
      #else
        let count = unsafe Glibc.read(file, &buffer, buffer.count)
      #endif
      guard count >= 0 else { throw .failed("\(path): \(SystemError(errno).description)") }
      if count == 0 { return total }
      total += count
    }
  }
}
