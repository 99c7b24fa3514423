import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import Testing

@Suite struct StoreRemoveTests {
  let sandbox = StoreSandbox()

  @Test func `removing a key takes all its variants or the one that is named`() throws {
    let store = try sandbox.open()
    for variant in 0..<UInt64(4) { try store.put([1], for: "k", variant: variant) }
    try store.put([1], for: "other")
    #expect(try store.remove("k", variant: 2) == 1)
    #expect(try store.remove("k", variant: 2) == 0)
    #expect(Set(store.variants(of: "k").map(\.variant)) == [0, 1, 3])
    #expect(try store.remove("k") == 3)
    #expect(try store.remove("k") == 0)
    #expect(store.variants(of: "k").isEmpty)
    #expect(store.contains("other"))
    #expect(sandbox.bodies.count == 1)
    #expect(sandbox.metadataFiles.count == 1)
    #expect(try sandbox.open().variants(of: "k").isEmpty)
  }

  @Test func `removing by prefix compares bytes`() throws {
    let store = try sandbox.open()
    for key: ByteString in ["a/1", "a/2", "a", "b/1", "ab"] { try store.put([1], for: key) }
    #expect(try store.remove(prefix: "a/") == 2)
    #expect(Set(store.entries().map(\.key)) == ["a", "b/1", "ab"])
    #expect(try store.remove(prefix: "zz") == 0)
    #expect(try store.remove(prefix: "") == 3)
    #expect(store.statistics.entries == 0)
    #expect(sandbox.bodies == [])
  }

  @Test func `a removal that is ended returns what it removed until then`() throws {
    let store = try sandbox.open()
    for number in 0..<5 { try store.put([1], for: ByteString("k\(number)")) }
    var rounds = 0
    func goesOn() -> Bool {
      rounds += 1
      return rounds % 3 != 0
    }
    #expect(try store.remove(while: goesOn) { $0.key.hasPrefix("k") } == 2)
    #expect(try store.remove(createdBefore: .distantFuture, while: goesOn) == 2)
    #expect(store.statistics.entries == 1)
  }

  @Test func `an entry that cannot be read is not passed over, and keeps no other`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files), settling: .within(seconds: 3_600))
    for key: ByteString in ["1", "2", "3"] {
      try store.put([1], for: key, metadata: EntryMetadata(tags: ["t"]))
    }
    let isFirst = Atomic<Bool>(true)
    files.faults.set { call in
      guard call.kind == .read else { return nil }
      return isFirst.exchange(false, ordering: .relaxed) ? .inputOutput : nil
    }
    let error = #expect(throws: StoreError.self) { try store.remove(tag: "t") }
    #expect(error?.code == .inputOutput && error?.path.hasSuffix(".log") == true)
    #expect(store.statistics.entries == 1)
    #expect(try store.remove(tag: "t") == 1)
    store.close()
  }

  @Test func `a shard without permission keeps no other entry`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    for number in 0..<20 { try store.put([1], for: ByteString("k\(number)")) }
    let broken = Mutex("")
    files.faults.set { call in
      guard call.kind == .open, call.name.count == 2 else { return nil }
      return broken.withLock { name in
        if name.isEmpty { name = call.name }
        return name == call.name ? SystemError(EACCES) : nil
      }
    }
    let error = #expect(throws: StoreError.self) { try store.remove(prefix: "k") }
    files.faults.set(nil)
    #expect(error?.code == .permissionDenied)
    let shard = broken.withLock { "entries/\($0)/" }
    #expect(sandbox.bodies.count > 0 && sandbox.bodies.allSatisfy { $0.hasPrefix(shard) })
    #expect(store.statistics.entries == sandbox.bodies.count)
  }

  @Test func `removing by tag takes those that carry it now`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "a", metadata: EntryMetadata(tags: ["x", "y"]))
    try store.put([1], for: "b", metadata: EntryMetadata(tags: ["y"]))
    try store.put([1], for: "c", metadata: EntryMetadata(tags: ["xy"]))
    try store.put([1], for: "d", metadata: EntryMetadata(tags: ["x"]))
    try store.update("d") { $0.tags = ["z"] }
    #expect(try store.remove(tag: "x") == 1)
    #expect(Set(store.entries().map(\.key)) == ["b", "c", "d"])
    #expect(try store.remove(tag: "z") == 1)
  }

  @Test func `removing by age is exact and spares what is pinned`() throws {
    let clock = SteppingClock(1_000_000_000_000)
    let store = try sandbox.open(Options(clock: clock))
    for (key, time) in [
      ("a", 1_000_000_000_000), ("b", 1_000_000_000_500), ("c", 1_000_000_001_000),
    ] {
      clock.set(Int64(time))
      try store.put([1], for: ByteString(key))
    }
    clock.set(900_000_000_000)
    try store.put([1], for: "pinned")
    try store.pin("pinned")
    #expect(try store.remove(createdBefore: Timestamp(nanoseconds: 1_000_000_000_500)) == 1)
    #expect(Set(store.entries().map(\.key)) == ["b", "c", "pinned"])
    #expect(try store.remove(createdBefore: Timestamp(nanoseconds: 2_000_000_000_000)) == 2)
    #expect(Set(store.entries().map(\.key)) == ["pinned"])
  }

  @Test func `removing all leaves no entry and no file once it is idle`() throws {
    let store = try sandbox.open(Options(limits: Limits(entries: 900), memoryBytes: 1 << 20))
    for number in 0..<300 {
      try store.put(TestBody.make(100, seed: UInt64(number)), for: ByteString("k\(number)"))
    }
    try store.pin("k1")
    let writer = try store.makeWriter(for: "late")
    try writer.write([7])
    try store.removeAll()
    #expect(store.statistics.entries == 0)
    #expect(store.statistics.pinnedBytes == 0)
    #expect(store.lookUp("k1").entry == nil)
    #expect(Array(store.entries()).isEmpty)
    try store.put([1], for: "new")
    // A writer that was under way is not cut off.
    try writer.commit()
    store.waitUntilIdle()
    #expect(sandbox.bodies.count == 2)
    #expect(sandbox.tree("staging").values.filter { !$0.isDirectory }.isEmpty)
    #expect(sandbox.tree("staging").count == 1)
    #expect(store.limits == Limits(entries: 900))
    store.close()
    let reopened = try sandbox.open()
    #expect(Set(reopened.entries().map(\.key)) == ["new", "late"])
    #expect(reopened.limits == Limits(entries: 900))
  }

  @Test func `removing all while another instance stores loses nothing stored after it`() throws {
    let one = try sandbox.open()
    let two = try sandbox.open(Options(memoryBytes: 1 << 20))
    let isDone = Atomic(false)
    let failures = Mutex<[String]>([])
    let running = Monitor(1)
    try startThread {
      var number = 0
      while !isDone.load(ordering: .relaxed) {
        number += 1
        do {
          try two.put(TestBody.make(600, seed: UInt64(number)), for: ByteString("k\(number % 40)"))
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
        if let entry = two.lookUp(ByteString("k\(number % 40)")).entry,
          entry.body != TestBody.make(600, seed: UInt64(number))
        {
          failures.withLock { $0.append("wrong bytes of \(number)") }
        }
      }
      running.change { $0 = 0 }
    }
    for _ in 0..<20 { try one.removeAll() }
    isDone.store(true, ordering: .relaxed)
    running.wait { $0 == 0 ? () : nil }
    #expect(failures.withLock { $0 } == [])
    try two.put([1], for: "last")
    #expect(one.lookUp("last").entry?.body == [1])
    one.waitUntilIdle()
    two.waitUntilIdle()
    #expect(one.statistics.entries == two.statistics.entries)
    #expect(sandbox.metadataFiles.count == one.statistics.entries)
    #expect(sandbox.tree("staging").values.filter { !$0.isDirectory }.isEmpty)
    #expect(one.statistics.damagedMisses == 0)
    #expect(two.statistics.damagedMisses == 0)
  }

  @Test func `trimming evicts the least recently accessed down to the bytes`() throws {
    let clock = SteppingClock(step: 1_000)
    let store = try sandbox.open(
      Options(limits: Limits(bytes: 1 << 30, accounting: .logical), clock: clock))
    for number in 0..<10 {
      try store.put(TestBody.make(100, seed: UInt64(number)), for: ByteString("k\(number)"))
    }
    _ = store.lookUp("k0")
    try store.pin("k1")
    #expect(try store.trim(toBytes: 400) == 6)
    #expect(Set(store.entries().map(\.key)) == ["k0", "k1", "k8", "k9"])
    #expect(try store.trim(toBytes: 0) == 3)
    #expect(store.entries().map(\.key) == ["k1"])
  }

  @Test func `a store that could not open the new directory of entries finds it later`() throws {
    let files = FaultyFiles()
    let one = try sandbox.open()
    let two = try sandbox.open(Options(fileSystem: files))
    try two.put([1], for: "k")
    try one.removeAll()
    one.waitUntilIdle()
    try one.put([2], for: "k")
    files.faults.set { $0.kind == .open && $0.name == "entries" ? SystemError(EMFILE) : nil }
    #expect(two.statistics.entries == 1)
    files.faults.set(nil)
    // The directory that it has open is not the one that stands there: nothing may be set aside.
    _ = two.lookUp("k")
    two.waitUntilIdle()
    #expect(two.lookUp("k").entry?.body == [2])
    #expect(one.lookUp("k").entry?.body == [2])
    try two.put([3], for: "l")
    #expect(one.lookUp("l").entry?.body == [3])
    #expect(sandbox.quarantined == [])
  }

  @Test(arguments: [(hours: 1, isThere: true), (25, false)])
  func `the journal forgets what was removed when it is a day old`(
    hours: Int, isThere: Bool
  ) throws {
    let sandbox = StoreSandbox()
    let clock = SteppingClock(step: 1_000)
    let store = try sandbox.open(Options(clock: clock))
    try store.put([1], for: "s3cr3t")
    try store.put([2], for: "kept")
    #expect(try store.remove("s3cr3t") == 1)
    store.close()
    clock.move(seconds: Int64(hours) * 3_600)
    try sandbox.open(Options(clock: clock)).close()
    let journal = sandbox.segments.flatMap { sandbox.bytes($0) }
    #expect(String(decoding: journal, as: UTF8.self).contains("s3cr3t") == isThere)
    #expect(try sandbox.open(Options(clock: clock)).lookUp("kept").entry?.body == [2])
  }
}
