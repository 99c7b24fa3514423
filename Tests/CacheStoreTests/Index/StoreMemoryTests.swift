import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@Suite struct StoreMemoryTests {
  let sandbox = StoreSandbox()

  @Test func `a second look-up comes from memory`() throws {
    let first = try sandbox.open()
    try first.put([1, 2, 3], for: "k", metadata: EntryMetadata(status: 200))
    first.close()
    let store = try sandbox.open(Options(memoryBytes: 1 << 20))
    #expect(store.lookUp("k").entry?.source == .disk)
    let hit = try #require(store.lookUp("k").entry)
    #expect(hit.source == .memory)
    #expect(hit.body == [1, 2, 3])
    #expect(hit.info.status == 200)
    #expect(hit.info.key == "k")
    // What was just stored is in memory, too.
    try store.put([4], for: "l")
    #expect(store.lookUp("l").entry?.source == .memory)
    #expect(store.statistics.memoryHits == 2)
    #expect(store.statistics.memoryEntries == 2)
  }

  @Test func `a hit in memory reads nothing from the disk`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(memoryBytes: 1 << 20, fileSystem: files))
    try store.put([1], for: "k")
    files.faults.set { [.read, .open].contains($0.kind) ? .inputOutput : nil }
    #expect(store.lookUp("k").entry?.body == [1])
    // The first access since the last touch record is announced to other processes.
    #expect(files.faults.calls.allSatisfy { $0.kind == .length || $0.kind == .lock })
  }

  @Test func `the memory tier keeps to its bytes and drops the least recently used`() throws {
    let store = try sandbox.open(Options(memoryBytes: 40_000))
    for number in 0..<50 {
      try store.put(TestBody.make(2_000, seed: UInt64(number)), for: ByteString("k\(number)"))
      _ = store.lookUp("k0")
      #expect(store.statistics.memoryBytes <= 40_000)
    }
    #expect(store.statistics.memoryEntries >= 15)
    #expect(store.lookUp("k0").entry?.source == .memory)
    #expect(store.lookUp("k1").entry?.source == .disk)
    #expect(store.lookUp("k49").entry?.source == .memory)
    // One that would push out too many others is not taken in.
    try store.put(TestBody.make(30_000, seed: 1), for: "large")
    #expect(store.lookUp("large").entry?.source == .disk)
    #expect(store.lookUp("large").entry?.source == .disk)
    #expect(store.lookUp("k0").entry?.source == .memory)
  }

  @Test func `what was replaced changed or removed is never served from memory`() throws {
    let store = try sandbox.open(Options(memoryBytes: 1 << 20))
    let other = try sandbox.open(Options(memoryBytes: 1 << 20))
    try store.put([1], for: "k")
    #expect(store.lookUp("k").entry?.source == .memory)
    try store.put([2], for: "k")
    #expect(store.lookUp("k").entry?.body == [2])
    try other.put([3], for: "k")
    #expect(store.lookUp("k").entry?.body == [3])
    #expect(store.lookUp("k").entry?.source == .memory)
    try other.update("k") { $0.status = 204 }
    #expect(store.lookUp("k").entry?.info.status == 204)
    let writer = try other.makeWriter(for: "k")
    try writer.write([4, 4])
    try writer.commit()
    #expect(store.lookUp("k").entry?.body == [4, 4])
    try other.remove("k")
    #expect(store.lookUp("k").entry == nil)
    try store.put([5], for: "k")
    try other.removeAll()
    #expect(store.lookUp("k").entry == nil)
    #expect(store.statistics.memoryEntries == 0)
    #expect(store.statistics.memoryBytes == 0)
  }

  @Test func `without memory every hit is from the disk`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k")
    #expect(store.lookUp("k").entry?.source == .disk)
    #expect(store.lookUp("k").entry?.source == .disk)
    #expect(store.statistics.memoryBytes == 0)
  }
}
