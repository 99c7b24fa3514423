import CLibrary
import CacheSystem
import CommandLineTools

/// Another program that writes to the same disk: it writes 4 MiB, syncs the file, and begins again.
private final class Hammer {
  private enum Phase { case working, ending, over }

  private let phase = Monitor(Phase.working)
  private let file: Int32

  init(path: String) throws {
    // Safety: the path is a Swift string that is passed as a NUL-terminated one for the call.
    let file = unsafe open("\(path)/hammer", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw BenchmarkError("hammer: \(path): \(SystemError(errno).description)")
    }
    self.file = file
    try startThread { [phase] in
      let block = [UInt8](repeating: 7, count: 4 << 20)
      while phase.change({ $0 }) == .working {
        // Safety: pwrite is given the array and its length.
        _ = unsafe pwrite(file, block, block.count, 0)
        fsync(file)
      }
      phase.change { $0 = .over }
    }
  }

  func end() {
    phase.change { $0 = .ending }
    phase.wait { $0 == .over ? () : nil }
    close(file)
  }
}

extension Bench {
  /// Stores in a quiet run, and then beside a program that writes to the same disk.
  func hammer() throws {
    let count = min(configuration.entryCount, 20_000)
    let corpus = self.corpus
    let names: [SystemName] = [.store, .floor, .sqliteTuned]
    var rows: [Row] = []
    for isHammered in [false, true] {
      let lanes = try makeLanes(names, corpus)
      defer { close(lanes) }
      let hammer = isHammered ? try Hammer(path: workspace.makeDirectory("hammer")) : nil
      defer { hammer?.end() }
      try runInTurns(.store, lanes, on: (0..<count).map { EntryID(index: $0) }, of: corpus)
      rows += self.rows(
        isHammered ? "hammer" : "hammer-quiet", lanes, entries: count, body: corpus.bodyBytes)
    }
    report.print("hammer: \(grouped(count)) entries beside a program that writes and syncs", rows)
  }
}
