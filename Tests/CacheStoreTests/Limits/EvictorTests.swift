import CacheFormat
import CacheSystem
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

@Suite struct EvictorTests {
  let sandbox = StoreSandbox()
  private let files = FaultyFiles()

  private func key(_ number: Int) -> ByteString { ByteString("k\(number)") }

  private func open(_ limits: Limits? = nil, entries: Int) throws -> Store {
    let store = try sandbox.open(Options(limits: limits, fileSystem: files))
    for number in 0..<entries { try store.put([UInt8(number)], for: key(number)) }
    return store
  }

  @Test func `nothing is evicted when the free bytes of the volume are not known`() throws {
    files.faults.availableBytes = 1 << 20 + 500_000
    let store = try open(Limits(freeBytes: 1 << 20), entries: 20)
    files.faults.set { $0.kind == .volume ? .inputOutput : nil }
    let error = #expect(throws: StoreError.self) {
      try store.put([UInt8](repeating: 1, count: 600_000), for: "large")
    }
    #expect(error?.code == .inputOutput)
    #expect(store.statistics.entries == 20)
    files.faults.set(nil)
    files.faults.availableBytes = nil
    try store.put([UInt8](repeating: 1, count: 600_000), for: "large")
    #expect(store.statistics.entries == 21)
  }

  @Test(arguments: 0..<4)
  func `nothing is evicted when one query of the volume fails`(failing: Int) throws {
    files.faults.availableBytes = 50 << 20
    let store = try open(Limits(freeBytes: 1 << 20), entries: 20)
    let count = Atomic<Int>(0)
    files.faults.set { call in
      guard call.kind == .volume else { return nil }
      return count.add(1, ordering: .relaxed).oldValue == failing ? .inputOutput : nil
    }
    // A staged body makes each query due.
    let writer = try? store.makeWriter(for: "large")
    try? writer?.write([UInt8](repeating: 1, count: 600_000))
    _ = try? writer?.commit()
    #expect(count.load(ordering: .relaxed) > 0)
    for number in 0..<20 { #expect(store.lookUp(key(number)).entry?.body == [UInt8(number)]) }
    files.faults.set(nil)
  }

  @Test func `entries go for their age although they are in use`() throws {
    let store = try open(entries: 20)
    files.faults.set { call in
      guard call.kind == .removeFile else { return nil }
      for number in 0..<20 { _ = store.lookUp(ByteString("k\(number)")) }
      return nil
    }
    #expect(try store.remove(createdBefore: .distantFuture) == 20)
    files.faults.set(nil)
  }

  @Test func `limits hold for entries with the greatest time of access`() throws {
    let store = try open(entries: 0)
    try store.catalog.writer.append { _ throws(StoreError) -> [[UInt8]] in
      (0..<3).map { number in
        let head = PutHead(
          keyHash: store.catalog.hash(key(number)), digest: Digest(high: 0, low: UInt64(number)),
          variant: 0, length: 1, created: .distantPast, accessed: .distantFuture, expires: nil,
          bodyFile: 1, overhead: 0, status: nil, isPinned: false)
        return PutRecord(head: head, key: key(number), metadata: EntryMetadata()).bytes
      }
    }
    #expect(store.statistics.entries == 3)
    try store.setLimits(Limits(entries: 1))
    #expect(store.statistics.entries == 1)
  }
}
