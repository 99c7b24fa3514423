import CacheFormat
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

/// A volume that tells freed bytes late.
@Suite struct PendingSpaceTests {
  private let sandbox = StoreSandbox()
  private func body(_ number: Int) -> [UInt8] { TestBody.make(40_000, seed: UInt64(number)) }

  @Test(arguments: [true, false])
  func `a store does not empty itself while evicted bytes are not free yet`(
    isFreedBySync: Bool
  ) throws {
    let files = FaultyFiles()
    let free = 10 << 20 as UInt64
    files.faults.availableBytes = free + 10 << 20
    let store = try sandbox.open(
      Options(limits: Limits(freeBytes: free), fileSystem: files), settling: .atOnce)
    for number in 0..<40 { try store.put(body(number), for: ByteString("k\(number)")) }
    files.faults.availableBytes = free + 20_000
    let evicted = Atomic<UInt64>(0)
    let syncs = Atomic<Int>(0)
    files.faults.set { call in
      if call.kind == .removeFile, call.name.hasSuffix(".body") {
        evicted.add(40_960, ordering: .relaxed)
      }
      if call.kind == .synchronize {
        syncs.add(1, ordering: .relaxed)
        if isFreedBySync {
          files.faults.availableBytes = free + 20_000 + evicted.load(ordering: .relaxed)
        }
      }
      return nil
    }
    if isFreedBySync {
      try store.put(body(40), for: "new")
      #expect(store.lookUp("new").entry?.body == body(40))
    } else {
      // The limit holds, and little goes for nothing.
      let error = #expect(throws: StoreError.self) { try store.put(body(40), for: "new") }
      #expect(error?.code == .noSpace)
    }
    #expect(syncs.load(ordering: .relaxed) == 1)
    #expect((1...2).contains(store.statistics.evictions))
    files.faults.set(nil)
    store.close()
  }

  @Test(arguments: [4096, 16_384] as [UInt64])
  func `a put evicts more if the volume gets back less than expected`(
    _ eachFrees: UInt64
  ) throws {
    let files = FaultyFiles()
    let free = 10 << 20 as UInt64
    files.faults.availableBytes = free + 10 << 20
    let store = try sandbox.open(
      Options(limits: Limits(freeBytes: free), fileSystem: files), settling: .atOnce)
    for number in 0..<40 { try store.put(body(number), for: ByteString("k\(number)")) }
    let missing = 30 * eachFrees
    // A put asks for its body, and for five blocks.
    files.faults.availableBytes = free + 40_000 + 5 * store.catalog.place.blockBytes - missing
    files.faults.set { call in
      if call.kind == .removeFile, call.name.hasSuffix(".body") {
        files.faults.availableBytes? += eachFrees
      }
      return nil
    }
    if eachFrees == 4096 {
      // Less than an eighth: others may have taken the bytes, or a snapshot may keep them.
      #expect(throws: StoreError.self) { try store.put(body(40), for: "new") }
      #expect(store.statistics.evictions < 20)
    } else {
      try store.put(body(40), for: "new")
      #expect(store.statistics.evictions == 30)
    }
    files.faults.set(nil)
    store.close()
  }

  @Test func `bytes that are told at once need no sync`() {
    var pending = PendingSpace()
    #expect(pending.step(free: 10, wanted: 100) == .evict)
    pending.add(50)
    #expect(pending.step(free: 60, wanted: 100) == .evict)
    pending.add(50)
    #expect(pending.step(free: 80, wanted: 100) == .evict)
  }
}
