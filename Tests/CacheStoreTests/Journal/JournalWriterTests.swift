import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import Synchronization
import Testing

@Suite struct JournalWriterTests {
  let sandbox = StoreSandbox()
  private static let segment = "00000001.log"

  @Test func `a segment that a reader finds while it is begun is added once`() throws {
    let files = FaultyFiles()
    // On a full disk, opening begins no segment.
    files.faults.set { $0.kind == .rename && $0.name == Self.segment ? SystemError(ENOSPC) : nil }
    let store = try sandbox.open(Options(fileSystem: files))
    let reads = Atomic(0)
    files.faults.set { call in
      // The file has its name, and the thread that made it opens it.
      if call.kind == .open, call.name == Self.segment,
        reads.wrappingAdd(1, ordering: .relaxed).oldValue == 0
      {
        #expect(store.lookUp("k").entry == nil)
      }
      return nil
    }
    try store.put([1], for: "k")
    #expect(reads.load(ordering: .relaxed) > 1)
    #expect(store.lookUp("k").entry?.body == [1])
    #expect(store.statistics.journalBytes == sandbox.bytes("journal/\(Self.segment)").count)
  }
}
