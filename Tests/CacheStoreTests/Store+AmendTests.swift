import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@Suite struct StoreAmendTests {
  let sandbox = StoreSandbox()

  @Test func `metadata is changed in the store and in the tree`() throws {
    let clock = SteppingClock()
    let store = try sandbox.open(Options(clock: clock))
    let stored = try store.put([1], for: "k", metadata: EntryMetadata(status: 200, tags: ["t"]))
    clock.move(seconds: 3)
    let changed = try store.update("k") { metadata in
      metadata.status = 304
      metadata.fields = [Field("a", "b")]
      metadata.expires = Timestamp(nanoseconds: 9)
    }
    #expect(changed)
    let expected = EntryMetadata(
      status: 304, fields: [Field("a", "b")], tags: ["t"], expires: Timestamp(nanoseconds: 9))
    for other in [store, try sandbox.open()] {
      let info = try #require(other.info(for: "k"))
      #expect(info.metadata == expected)
      #expect(info.created == stored.created)
      #expect(info.accessed == stored.accessed)
      #expect(other.lookUp("k").entry?.body == [1])
    }
    store.close()
    for segment in sandbox.segments { sandbox.remove(segment) }
    #expect(try sandbox.open().info(for: "k")?.metadata == expected)
  }

  @Test(arguments: [Settling.atOnce, .within(seconds: 60)], [200, 20_000])
  func `the closure of a change may use the store, and sees what others have stored`(
    settling: Settling, count: Int
  ) throws {
    let store = try sandbox.open(Options(settling: settling))
    let other = try sandbox.open(Options(settling: settling))
    let body = [UInt8](repeating: 7, count: count)
    try store.put([1], for: "k", metadata: EntryMetadata(status: 200))
    var calls = 0
    let changed = try store.update("k") { metadata in
      calls += 1
      #expect(store.lookUp("k").entry != nil)
      if calls == 1 {
        #expect(metadata.status == 200)
        #expect(throws: Never.self) {
          try other.put(body, for: "k", metadata: EntryMetadata(status: 203))
        }
      }
      metadata.tags = ["t"]
    }
    #expect(changed && calls == 2)
    #expect(store.lookUp("k").entry?.body == body)
    #expect(store.info(for: "k")?.metadata == EntryMetadata(status: 203, tags: ["t"]))
    var removed = 0
    #expect(
      try !store.update("k") { _ in
        removed += 1
        #expect(throws: Never.self) { try other.remove("k") }
      })
    #expect(removed == 1)
  }

  @Test func `changes by several threads at once are all made`() async throws {
    let store = try sandbox.open()
    try store.put(
      [UInt8](repeating: 7, count: 20_000), for: "k", metadata: EntryMetadata(status: 0))
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<25 {
            #expect(throws: Never.self) {
              try store.update("k") { metadata in
                // A slow closure, so that others come between.
                for _ in 0..<50 { _ = store.info(for: "k") }
                metadata.status = (metadata.status ?? 0) + 1
              }
            }
          }
        }
      }
    }
    #expect(store.info(for: "k")?.metadata.status == 100)
  }

  @Test func `what is not there cannot be changed`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k")
    #expect(try !store.update("l") { $0.status = 1 })
    #expect(try !store.update("k", variant: 1) { $0.status = 1 })
    #expect(try !store.pin("l"))
    #expect(try !store.unpin("l"))
    #expect(store.statistics.entries == 1)
    #expect(sandbox.metadataFiles.count == 1)
  }

  @Test func `metadata out of bounds is refused and the old stays`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k", metadata: EntryMetadata(status: 200))
    #expect(throws: failure(.metadataTooLarge, sandbox.root)) {
      try store.update("k") { $0.status = 1000 }
    }
    let large = ByteString(bytes: Array(repeating: 1, count: 1 << 20))
    #expect(throws: failure(.metadataTooLarge, sandbox.root)) {
      try store.update("k") { $0.tags = [large] }
    }
    #expect(store.info(for: "k")?.metadata == EntryMetadata(status: 200))
    #expect(sandbox.tree("staging").values.filter { !$0.isDirectory }.isEmpty)
  }

  @Test func `pinning survives and may be taken back`() throws {
    let store = try sandbox.open()
    try store.put([1, 2], for: "k")
    #expect(try store.pin("k"))
    #expect(try store.pin("k"))
    #expect(store.statistics.pinnedEntries == 1)
    #expect(try sandbox.open().statistics.pinnedBytes == 2)
    #expect(try store.unpin("k"))
    #expect(store.info(for: "k")?.isPinned == false)
    #expect(try sandbox.open().statistics.pinnedEntries == 0)
  }

  @Test func `a failing write changes nothing`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put([1], for: "k", metadata: EntryMetadata(status: 1))
    // The metadata file is written first, then the journal's record.
    for place in 0..<2 {
      let fault = CountedFault(after: place, .inputOutput) { $0.kind == .write }
      files.faults.set { fault.check($0) }
      let error = #expect(throws: StoreError.self) { try store.update("k") { $0.status = 2 } }
      files.faults.set(nil)
      #expect(error?.code == .inputOutput)
      #expect(error?.errno == EIO)
      #expect(store.info(for: "k")?.status == 1)
      #expect(store.lookUp("k").entry?.body == [1])
      #expect(try sandbox.open().info(for: "k")?.status == 1)
    }
    #expect(try store.update("k") { $0.status = 2 })
    #expect(store.info(for: "k")?.status == 2)
  }

  @Test func `an entry that others replace again and again is not called missing`() throws {
    let store = try sandbox.open(settling: .within(seconds: 3_600))
    let other = try sandbox.open(settling: .within(seconds: 3_600))
    try store.put([0], for: "k")
    var count: UInt8 = 0
    let error = #expect(throws: StoreError.self) {
      try store.update("k") { metadata in
        count &+= 1
        _ = try? other.put([count], for: "k")
        metadata.status = 304
      }
    }
    #expect(error?.code == .inputOutput)
    #expect(error?.cause.contains("again and again") == true)
    #expect(store.lookUp("k").entry?.body == [count])
    #expect(store.info(for: "k")?.status != 304)
  }
}
