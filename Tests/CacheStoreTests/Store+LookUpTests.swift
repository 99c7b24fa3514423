import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import Testing

@Suite struct StoreLookUpTests {
  let sandbox = StoreSandbox()

  @Test func `what was never stored is absent`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k")
    guard case .miss(.absent) = store.lookUp("l") else {
      Issue.record("no miss")
      return
    }
    guard case .miss(.absent) = store.read("l") else {
      Issue.record("no miss")
      return
    }
    #expect(store.lookUp("k", variant: 1).entry == nil)
    #expect(!store.contains("l"))
    #expect(store.info(for: "l") == nil)
    #expect(store.variants(of: "l").isEmpty)
    #expect(store.statistics.misses == 3)
  }

  @Test func `what is printed of an entry is short`() throws {
    let store = try sandbox.open()
    try store.put([UInt8](repeating: 7, count: 300_000), for: "page/1")
    let found = store.lookUp("page/1")
    #expect(found.entry.map { "\($0)" } == "page/1, 300000 bytes, disk")
    #expect(store.info(for: "page/1").map { "\($0)" } == "page/1, 300000 bytes")
    #expect("\(found)" == "hit(page/1, 300000 bytes, disk)")
    let error = #expect(throws: StoreError.self) { try store.put([1], for: "") }
    #expect(error.map { "\($0.code)" } == error?.code.rawValue)
  }

  @Test func `asking without reading is no access`() throws {
    let clock = SteppingClock()
    let store = try sandbox.open(Options(clock: clock))
    let stored = try store.put([1], for: "k")
    clock.move(seconds: 60)
    #expect(store.contains("k"))
    #expect(store.info(for: "k")?.accessed == stored.accessed)
    #expect(store.variants(of: "k").first?.accessed == stored.accessed)
    #expect(Array(store.entries()).first?.accessed == stored.accessed)
    let hit = try #require(store.lookUp("k").entry)
    #expect(hit.info.accessed == Timestamp(nanoseconds: clock.now()))
    #expect(store.info(for: "k")?.accessed == hit.info.accessed)
    clock.move(seconds: 60)
    guard case .hit = store.read("k") else {
      Issue.record("no hit")
      return
    }
    #expect(store.info(for: "k")?.accessed == Timestamp(nanoseconds: clock.now()))
  }

  @Test func `access times survive closing and are seen by others after a flush`() throws {
    let clock = SteppingClock()
    let store = try sandbox.open(Options(clock: clock))
    try store.put([1], for: "k")
    let other = try sandbox.open(Options(clock: clock))
    clock.move(seconds: 5)
    _ = store.lookUp("k")
    try store.flush()
    #expect(other.info(for: "k")?.accessed == Timestamp(nanoseconds: clock.now()))
    clock.move(seconds: 5)
    _ = store.lookUp("k")
    store.close()
    #expect(
      try sandbox.open().info(for: "k")?.accessed == Timestamp(nanoseconds: clock.now()))
  }

  @Test func `a key whose hash is that of another one misses`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "a")
    let info = try #require(store.info(for: "a"))
    #expect(info.key == "a")
    store.close()
    // The entry of "a" in the place of "b": as after a collision of their hashes. The metadata is
    // written anew for the place, so that only the full key tells.
    let seed = try StoreDescription(decoding: sandbox.bytes("store.json")).hashSeed
    let from = KeyHash(hashing: "a", seed: seed)
    let to = KeyHash(hashing: "b", seed: seed)
    try FileManager.default.createDirectory(
      atPath: sandbox.inside("entries/\(to.shardName)"), withIntermediateDirectories: true)
    try FileManager.default.moveItem(
      atPath: sandbox.inside("entries/\(from.shardName)/\(from.directoryName)"),
      toPath: sandbox.inside("entries/\(to.shardName)/\(to.directoryName)"))
    for segment in sandbox.segments { sandbox.remove(segment) }
    let reopened = try sandbox.open()
    #expect(reopened.lookUp("b").entry == nil)
    #expect(reopened.lookUp("a").entry == nil)
    reopened.waitUntilIdle()
    #expect(reopened.statistics.entries == 0)
    try reopened.put([2], for: "b")
    #expect(reopened.lookUp("b").entry?.body == [2])
  }

  @Test func `iteration gives each entry once with all that is known of it`() throws {
    let store = try sandbox.open()
    for number in 0..<700 {
      try store.put(
        [UInt8(number % 256)], for: ByteString("k\(number)"), variant: UInt64(number % 2),
        metadata: EntryMetadata(status: number))
    }
    let all = Array(store.entries())
    #expect(all.count == 700)
    #expect(Set(all.map(\.key)).count == 700)
    #expect(all.allSatisfy { $0.key == ByteString("k\($0.status ?? -1)") && $0.length == 1 })
  }

  @Test func `entries may come and go while they are iterated`() throws {
    let store = try sandbox.open()
    for number in 0..<600 { try store.put([1], for: ByteString("old\(number)")) }
    var seen: [ByteString: Int] = [:]
    for (place, info) in store.entries().enumerated() {
      seen[info.key, default: 0] += 1
      if place < 300 {
        try store.remove(ByteString("old\(599 - place)"))
        try store.put([2], for: ByteString("new\(place)"))
      }
    }
    #expect(seen.values.allSatisfy { $0 == 1 })
    // What stayed all the time is seen.
    #expect((0..<300).allSatisfy { seen[ByteString("old\($0)")] == 1 })
    #expect(store.statistics.entries == 600)
  }
}
