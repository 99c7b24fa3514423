import CLibrary
import CacheFormat
import CacheSystem
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

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

  @Test func `a record that could not be read back is not appended`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k")
    let head = PutHead(
      keyHash: store.catalog.hash("k"), digest: Digest(high: 0, low: 1), variant: 0, length: 1,
      created: .distantPast, accessed: .distantPast, expires: nil, bodyFile: 1, overhead: 0,
      status: nil, isPinned: false)
    let item = Field("a", ByteString(bytes: Array(repeating: 1, count: RecordFrame.maximumLength)))
    let error = #expect(throws: StoreError.self) {
      try store.catalog.writer.append { _ throws(StoreError) -> [[UInt8]] in
        [PutRecord(head: head, key: "k", metadata: EntryMetadata(userInfo: [item])).bytes]
      }
    }
    #expect(error?.code == .metadataTooLarge)
    for other in [store, try sandbox.open()] { #expect(other.lookUp("k").entry?.body == [1]) }
  }
}
