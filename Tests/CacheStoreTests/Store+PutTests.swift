import CacheFormat
import CacheStore
import CacheSystem
import Dispatch
import Foundation
import SimulatedFiles
import Testing

@Suite struct StorePutTests {
  let sandbox = StoreSandbox()

  @Test func `an entry that expired as early as can be is not one that never expires`() throws {
    var store = try sandbox.open()
    var metadata = EntryMetadata(expires: Timestamp(seconds: -.infinity))
    let body = TestBody.make(40_000, seed: 1)
    try store.put(body, for: "a", metadata: metadata)
    metadata.expires = nil
    metadata.expires = .distantPast
    try store.put(body, for: "b", metadata: metadata)
    store.close()
    for isLost in [false, true] {
      if isLost { sandbox.remove("journal") }
      store = try sandbox.open()
      for key: ByteString in ["a", "b"] {
        let info = try #require(store.info(for: key))
        let expires = try #require(info.expires)
        #expect(expires < Timestamp(nanoseconds: .min + 2))
      }
      store.close()
    }
  }

  @Test func `memory does not keep what was changed before it came there`() async throws {
    let files = FaultyFiles()
    var options = Options(durability: .full, fileSystem: files)
    options.memoryBytes = 1 << 20
    let store = try Store(at: sandbox.root, options: options)
    let other = try Store(at: sandbox.root)
    try store.put([0], for: "before")
    let reached = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    files.faults.set { call in
      guard call.kind == .synchronize, call.name.hasSuffix(".log") else { return nil }
      reached.continuation.yield()
      gate.wait()
      return nil
    }
    let putting = Task { try store.put([1], for: "k", metadata: EntryMetadata(status: 200)) }
    for await _ in reached.stream { break }
    files.faults.set(nil)
    #expect(try other.update("k") { $0.status = 404 })
    #expect(store.info(for: "k")?.metadata.status == 404)
    gate.signal()
    _ = try await putting.value
    #expect(store.lookUp("k").entry?.info.metadata.status == 404)
  }

  @Test(arguments: [0, 1, 4_095, 4_096, 65_536, 65_537, 1_000_003])
  func `bodies of any length come back`(count: Int) throws {
    let store = try sandbox.open()
    let body = TestBody.make(count, seed: UInt64(count))
    let info = try store.put(body, for: "k")
    #expect(info.length == UInt64(count))
    #expect(store.lookUp("k").entry?.body == body)
    let reopened = try sandbox.open()
    #expect(reopened.lookUp("k").entry?.body == body)
  }

  @Test func `keys are any bytes and told apart by each of them`() throws {
    let store = try sandbox.open()
    let keys = [[0], [0, 0], [0xff, 0xfe], Array("e\u{301}".utf8), Array("\u{e9}".utf8), [10]]
    for (place, key) in keys.enumerated() {
      try store.put([UInt8(place)], for: ByteString(bytes: key))
    }
    for (place, key) in keys.enumerated() {
      #expect(store.lookUp(ByteString(bytes: key)).entry?.body == [UInt8(place)])
    }
  }

  @Test func `keys and metadata out of bounds are refused and change nothing`() throws {
    let store = try sandbox.open()
    let path = sandbox.root
    let longest = ByteString(bytes: Array(repeating: 7, count: 64 << 10))
    try store.put([1], for: longest)
    #expect(store.lookUp(longest).entry?.body == [1])
    #expect(throws: failure(.keyEmpty, path)) { try store.put([1], for: "") }
    for count in [(64 << 10) + 1, 1 << 20] {
      let key = ByteString(bytes: Array(repeating: 7, count: count))
      #expect(throws: failure(.keyTooLong, path)) { try store.put([1], for: key) }
      #expect(throws: failure(.keyTooLong, path)) { try store.makeWriter(for: key) }
      #expect(store.lookUp(key).entry == nil)
    }
    let big = EntryMetadata(fields: [
      Field("n", ByteString(bytes: Array(repeating: 1, count: 1 << 20)))
    ])
    #expect(throws: failure(.metadataTooLarge, path)) {
      try store.put([1], for: "k", metadata: big)
    }
    for status in [-1, 1000] {
      #expect(throws: failure(.metadataTooLarge, path)) {
        try store.put([1], for: "k", metadata: EntryMetadata(status: status))
      }
    }
    #expect(store.lookUp("k").entry == nil)
    #expect(store.lookUp("").entry == nil)
    #expect(store.statistics.entries == 1)
    #expect(sandbox.bodies.count == 1)
  }

  @Test func `the largest metadata that is allowed is kept`() throws {
    let store = try sandbox.open()
    let value = ByteString(bytes: Array(repeating: 0xe9, count: (1 << 20) - 1 - 1 - 8))
    let metadata = EntryMetadata(userInfo: [Field("n", value)])
    try store.put([1], for: "k", metadata: metadata)
    #expect(store.lookUp("k").entry?.info.metadata == metadata)
    store.close()
    // And from the tree, without the journal.
    for segment in sandbox.segments { sandbox.remove(segment) }
    #expect(try sandbox.open().lookUp("k").entry?.info.metadata == metadata)
  }

  @Test func `a later put replaces body and metadata and leaves no file of the old one`() throws {
    let store = try sandbox.open()
    try store.put([1, 2, 3], for: "k", metadata: EntryMetadata(status: 200, tags: ["old"]))
    let second = try store.put([9], for: "k", metadata: EntryMetadata(status: 404))
    #expect(store.lookUp("k").entry?.body == [9])
    #expect(store.info(for: "k")?.status == 404)
    #expect(store.info(for: "k")?.tags == [])
    #expect(store.info(for: "k")?.digest == second.digest)
    #expect(sandbox.bodies.count == 1)
    #expect(sandbox.metadataFiles.count == 1)
    #expect(store.statistics.entries == 1)
  }

  @Test func `variants of one key are stored side by side up to their number`() throws {
    let clock = SteppingClock(step: 1_000)
    let store = try sandbox.open(Options(clock: clock))
    for variant in 0..<UInt64(Store.maximumVariants) {
      try store.put([UInt8(variant)], for: "k", variant: variant)
    }
    #expect(store.variants(of: "k").count == Store.maximumVariants)
    _ = store.lookUp("k", variant: 0)
    try store.pin("k", variant: 1)
    try store.put([200], for: "k", variant: 1_000)
    // 0 was accessed and 1 is pinned: 2 was least recently accessed.
    #expect(
      Set(store.variants(of: "k").map(\.variant)) == Set(0..<64).subtracting([2]).union([1_000]))
    #expect(store.lookUp("k", variant: 1_000).entry?.body == [200])
    #expect(sandbox.metadataFiles.count == 64)
    #expect(sandbox.bodies.count == 64)
    let reopened = try sandbox.open()
    #expect(reopened.variants(of: "k").count == 64)
  }

  @Test func `variants of one key with equal bodies have one file`() throws {
    let store = try sandbox.open()
    try store.put([5, 5], for: "k", variant: 1)
    try store.put([5, 5], for: "k", variant: 2)
    #expect(sandbox.bodies.count == 1)
    try store.remove("k", variant: 1)
    #expect(store.lookUp("k", variant: 2).entry?.body == [5, 5])
    try store.put([6], for: "k", variant: 2)
    #expect(store.lookUp("k", variant: 2).entry?.body == [6])
    #expect(sandbox.bodies.count == 1)
  }

  @Test func `a pinned entry that is stored again stays pinned`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k")
    try store.pin("k")
    try store.put([2, 2], for: "k")
    #expect(store.info(for: "k")?.isPinned == true)
    #expect(store.statistics.pinnedBytes == 2)
    #expect(try sandbox.open().info(for: "k")?.isPinned == true)
  }

  @Test func `two instances see what the other stores and removes`() throws {
    let one = try sandbox.open(Options(memoryBytes: 1 << 20))
    let two = try sandbox.open(Options(memoryBytes: 1 << 20))
    try one.put([1], for: "k")
    #expect(two.lookUp("k").entry?.body == [1])
    try two.put([2], for: "k")
    #expect(one.lookUp("k").entry?.body == [2])
    try one.remove("k")
    #expect(two.lookUp("k").entry == nil)
    #expect(two.statistics.entries == 0)
  }
}
