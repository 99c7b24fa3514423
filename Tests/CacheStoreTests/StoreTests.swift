import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import TestSupport
import Testing

@Suite struct StoreTests {
  let sandbox = StoreSandbox()

  @Test func `what was stored is there after closing and opening again`() throws {
    let metadata = EntryMetadata(
      status: 200, fields: [Field("etag", "\"1\""), Field("etag", "\"2\"")],
      userInfo: [Field("who", ByteString(bytes: [0xff, 0, 1]))], tags: ["a", "b"],
      expires: Timestamp(nanoseconds: 5))
    let body = TestBody.make(5_000, seed: 1)
    let first = try sandbox.open()
    let stored = try first.put(body, for: "key", metadata: metadata)
    first.close()
    let second = try sandbox.open()
    let entry = try #require(second.lookUp("key").entry)
    #expect(entry.body == body)
    #expect(entry.source == .disk)
    #expect(entry.info.metadata == metadata)
    #expect(entry.info.key == "key")
    #expect(entry.info.digest == Digest(hashing: body))
    #expect(entry.info.created == stored.created)
    #expect(entry.info.accessed > stored.accessed)
    #expect(second.statistics.entries == 1)
  }

  @Test func `directories above a new store are made and all modes are those of one user`() throws {
    let store = try Store(at: sandbox.path + "/a/b/c")
    try store.put([1], for: "k")
    store.close()
    #expect(store.path == sandbox.path + "/a/b/c")
    let whole = StoreSandbox()
    let other = try whole.open(Options(durability: .full))
    try other.put([1, 2, 3], for: "k")
    let writer = try other.makeWriter(for: "w")
    try writer.write([1])
    for (name, facts) in whole.tree() {
      #expect(facts.mode == (facts.isDirectory ? 0o700 : 0o600), "\(name)")
    }
    #expect(FileFacts(whole.root)?.mode == 0o700)
    _ = try writer.commit()
  }

  @Test func `a store is not made where none is wanted`() {
    let path = sandbox.root
    #expect(throws: failure(.notFound, path, errno: ENOENT)) {
      try Store(at: path, options: Options(createsStore: false))
    }
    #expect(throws: failure(.notFound, path, errno: ENOENT)) {
      try Store(at: path, options: Options(isReadOnly: true))
    }
    #expect(FileFacts(path) == nil)
    #expect(throws: failure(.notFound, "")) { try Store(at: "") }
  }

  @Test func `an empty directory becomes a store only when it may`() throws {
    try FileManager.default.createDirectory(atPath: sandbox.root, withIntermediateDirectories: true)
    let path = sandbox.root
    #expect(throws: failure(.notFound, path)) {
      try Store(at: path, options: Options(createsStore: false))
    }
    #expect(sandbox.tree().isEmpty)
    let store = try sandbox.open()
    try store.put([1], for: "k")
    #expect(store.contains("k"))
  }

  @Test func `a closed store refuses writes and misses every look-up`() throws {
    let store = try sandbox.open(Options(memoryBytes: 1 << 20))
    try store.put([1], for: "k")
    var writer: BodyWriter? = try store.makeWriter(for: "w")
    try writer?.write([1])
    var late: BodyWriter? = try store.makeWriter(for: "late")
    let entries = store.entries()
    store.close()
    store.close()
    let path = sandbox.root
    #expect(throws: failure(.closed, path)) { try store.put([2], for: "k") }
    #expect(throws: failure(.closed, path)) { try store.put([2], for: "new") }
    #expect(throws: failure(.closed, path)) { try writer?.commit() }
    // The bytes go on to its readers; only the commit fails.
    try late?.write([1])
    (writer, late) = (nil, nil)
    #expect(throws: failure(.closed, path)) { try store.removeAll() }
    #expect(throws: failure(.closed, path)) { try store.setLimits(Limits(entries: 5)) }
    for key in ["k", "new"] as [ByteString] {
      for _ in 0..<2 {
        guard case .miss(.closed) = store.lookUp(key), case .miss(.closed) = store.read(key) else {
          Issue.record("\(key): another reason than closed")
          break
        }
      }
    }
    #expect(store.info(for: "k") == nil)
    #expect(!store.contains("k") && store.variants(of: "k").isEmpty)
    #expect(Array(store.entries()).isEmpty && Array(entries).isEmpty)
    // Nothing that a later opening would have to clean up.
    #expect(sandbox.sessions == [])
    #expect(try sandbox.open().lookUp("k").entry?.body == [1])
  }

  @Test func `a store that nobody holds any more closes itself`() throws {
    do {
      let store = try sandbox.open()
      try store.put([1], for: "k")
      #expect(sandbox.sessions.count == 1)
    }
    #expect(sandbox.sessions == [])
    #expect(try sandbox.open().lookUp("k").entry?.body == [1])
  }

  @Test func `a read-only store reads all and changes nothing on disk`() throws {
    let writer = try sandbox.open()
    try writer.put([1, 2], for: "a", metadata: EntryMetadata(tags: ["t"]))
    writer.close()
    let before = sandbox.tree()
    let store = try sandbox.open(Options(isReadOnly: true))
    #expect(store.lookUp("a").entry?.body == [1, 2])
    #expect(store.lookUp("b").entry == nil)
    #expect(Array(store.entries()).map(\.key) == ["a"])
    let path = sandbox.root
    let error = failure(.readOnly, path)
    #expect(throws: error) { try store.put([1], for: "c") }
    #expect(throws: error) { try store.makeWriter(for: "c") }
    #expect(throws: error) { try store.remove("a") }
    #expect(throws: error) { try store.remove(prefix: "") }
    #expect(throws: error) { try store.remove(tag: "t") }
    #expect(throws: error) { try store.remove(createdBefore: .distantFuture) }
    #expect(throws: error) { try store.removeAll() }
    #expect(throws: error) { try store.update("a") { $0.status = 1 } }
    #expect(throws: error) { try store.pin("a") }
    #expect(throws: error) { try store.unpin("a") }
    #expect(throws: error) { try store.setLimits(Limits(entries: 1)) }
    #expect(throws: error) { try store.trim(toBytes: 0) }
    store.waitUntilIdle()
    store.close()
    #expect(sandbox.tree() == before)
  }

  @Test(arguments: ["lock", "entries"])
  func `a store that lacks a part for a moment is opened read-only`(part: String) throws {
    let store = try sandbox.open()
    try store.put([1], for: "a")
    store.close()
    let (here, away) = (sandbox.inside(part), sandbox.root + ".away")
    #expect(unsafe rename(here, away) == 0)
    let before = sandbox.tree()
    let reader = try sandbox.open(Options(isReadOnly: true))
    #expect(reader.statistics.entries == 1)
    #expect(sandbox.tree() == before)
    #expect(unsafe rename(away, here) == 0)
    #expect(reader.lookUp("a").entry?.body == [1])
    reader.close()
  }

  @Test func `a read-only store follows what another instance writes`() throws {
    let writer = try sandbox.open()
    try writer.put([1], for: "a")
    let reader = try sandbox.open(Options(isReadOnly: true))
    try writer.put([2], for: "b")
    try writer.put([3], for: "a")
    #expect(reader.lookUp("a").entry?.body == [3])
    #expect(reader.lookUp("b").entry?.body == [2])
    try writer.removeAll()
    #expect(reader.lookUp("a").entry == nil)
    try writer.put([4], for: "a")
    #expect(reader.lookUp("a").entry?.body == [4])
  }

  @Test func `statistics count what there is and what was done`() throws {
    let store = try sandbox.open(Options(memoryBytes: 1 << 20))
    let body = TestBody.make(10_000, seed: 3)
    try store.put(body, for: "a")
    try store.put(body, for: "b")
    try store.put(TestBody.make(3, seed: 4), for: "c", variant: 9)
    try store.pin("c", variant: 9)
    _ = store.lookUp("a")
    _ = store.lookUp("nothing")
    let statistics = store.statistics
    #expect(statistics.entries == 3)
    #expect(statistics.logicalBytes == 20_003)
    #expect(statistics.sharedBytes == 10_000)
    #expect(statistics.pinnedEntries == 1)
    #expect(statistics.pinnedBytes == 3)
    #expect(statistics.stores == 3)
    #expect(statistics.hits == 1)
    #expect(statistics.memoryHits == 1)
    #expect(statistics.misses == 1)
    #expect(statistics.evictions == 0)
    #expect(statistics.damagedMisses == 0)
    #expect(statistics.isComplete)
    try store.remove("a")
    try store.remove("c")
    #expect(store.statistics.entries == 1)
    #expect(store.statistics.logicalBytes == 10_000)
    #expect(store.statistics.sharedBytes == 0)
    #expect(store.statistics.pinnedBytes == 0)
    let journal = sandbox.segments.reduce(0) { $0 + sandbox.bytes($1).count }
    #expect(store.statistics.journalBytes == UInt64(journal))
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `allocated bytes are what the tree takes on disk`(seed: UInt64) throws {
    print("seed \(seed)")
    var random = SplitMix64(seed: seed)
    let store = try sandbox.open()
    for step in 0..<400 {
      let key = ByteString("key\(random.next() % 150)")
      switch random.next() % 8 {
      case 0: try store.remove(key)
      case 1:
        try store.update(key) {
          $0.fields = Array(repeating: Field("name", "value"), count: Int(random.next() % 400))
        }
      case 2...4:
        // Bodies of which many are equal.
        try store.put(TestBody.make(Int(random.next() % 4) * 5_000, seed: 1), for: key)
      default:
        try store.put(
          TestBody.make(Int(random.next() % 20_000), seed: UInt64(step)), for: key,
          variant: random.next() % 2)
      }
    }
    for reopened in [store, try sandbox.open()] {
      // Each file once, however many names it has. A directory is charged with each variant in it,
      // which is 4 KiB too much for each but the first. Not charged: the 256 directories of the shards
      // and those at the root, store.json, lock, tag. tmpfs says that a directory takes nothing.
      var inodes: [UInt64: UInt64] = [:]
      for (name, facts) in sandbox.tree()
      where name.hasPrefix("journal/") || name.split(separator: "/").count > 2 {
        inodes[facts.inode] = facts.isDirectory ? max(facts.allocated, 4_096) : facts.allocated
      }
      let onDisk = inodes.values.reduce(0, +)
      let counted = reopened.statistics.allocatedBytes
      // A file of one block may be stored inline or with a block of its own: one percent, and the
      // last block of the journal.
      let tolerance = onDisk / 100 + 8_192
      let more = sandbox.metadataFiles.count - Set(reopened.entries().map(\.key)).count
      #expect(counted + tolerance >= onDisk, "\(counted) counted, \(onDisk) on disk")
      #expect(
        counted <= onDisk + tolerance + UInt64(more * 4_096),
        "\(counted) counted, \(onDisk) on disk")
    }
  }
}
