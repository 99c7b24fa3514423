import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

@testable import CacheStore

@Suite struct StoreEventTests {
  let sandbox = StoreSandbox()

  /// Runs `body` and gives the events that it made.
  private func events(
    _ options: Options = Options(), _ body: (Store) throws -> Void
  ) async throws -> [StoreEvent] {
    let store = try sandbox.open(options)
    let stream = store.events()
    try body(store)
    store.close()
    var events: [StoreEvent] = []
    for await event in stream { events.append(event) }
    return events
  }

  private func event(
    _ kind: StoreEvent.Kind, _ key: ByteString?, _ bytes: UInt64 = 0
  ) -> StoreEvent {
    StoreEvent(kind: kind, key: key, bytes: bytes)
  }

  @Test func `what happens is reported in order with its reason`() async throws {
    let events = try await events(Options(memoryBytes: 1 << 20)) { store in
      _ = store.lookUp("k")
      try store.put([1, 2], for: "k")
      _ = store.lookUp("k")
      _ = store.read("k")
      _ = store.read("l")
      try store.remove("k")
    }
    #expect(
      events == [
        event(.miss(.absent), "k"), event(.stored, "k", 2), event(.hit(.memory), "k", 2),
        event(.hit(.disk), "k", 2), event(.miss(.absent), "l"),
        event(.removed(.asked), nil, 2),
      ])
  }

  @Test func `eviction is reported with the limit that caused it`() async throws {
    let count = try await events(Options(limits: Limits(entries: 2))) { store in
      for key: ByteString in ["a", "b", "c"] { try store.put([1], for: key) }
      store.waitUntilIdle()
    }
    #expect(count.filter { $0.kind == .removed(.count) } == [event(.removed(.count), nil, 1)])
    #expect(count.filter { $0.kind == .removed(.bytes) } == [])

    let bytes = try await events(Options(limits: Limits(bytes: 250, accounting: .logical))) {
      store in
      for key: ByteString in ["a", "b", "c"] {
        try store.put(TestBody.make(100, seed: 1), for: key)
      }
      store.waitUntilIdle()
    }
    #expect(bytes.contains(event(.removed(.bytes), nil, 100)))
    #expect(!bytes.contains { $0.kind == .removed(.count) })
  }

  @Test(arguments: [Settling.atOnce, .within(seconds: 3_600)])
  func `a variant that one more displaces is reported as evicted`(settling: Settling) async throws {
    let store = try sandbox.open(settling: settling)
    let stream = store.events()
    for variant in 0...UInt64(Store.maximumVariants) {
      try store.put([1], for: "k", variant: variant)
    }
    #expect(store.statistics.evictions == 1)
    store.close()
    var removed: [StoreEvent] = []
    for await event in stream where event.kind != .stored && event.kind != .maintained {
      removed.append(event)
    }
    #expect(removed == [event(.removed(.count), nil, 1)])
  }

  @Test(.timeLimit(.minutes(1)))
  func `background work is reported, because it changes the sizes`() async throws {
    let store = try sandbox.open(Options(), settling: .within(seconds: 1))
    defer { store.close() }
    let stream = store.events()
    let before = store.statistics.allocatedBytes
    try store.put(TestBody.make(5000, seed: 1), for: "a")
    for await event in stream where event.kind == .maintained {
      if store.statistics.allocatedBytes > before { break }
    }
  }

  @Test(.timeLimit(.minutes(1))) func `events of a closed store end`() async throws {
    let store = try sandbox.open()
    store.close()
    for await _ in store.events() {}
  }

  @Test func `removal by age is reported as such`() async throws {
    let events = try await events { store in
      try store.put([1, 2, 3], for: "a")
      try store.remove(createdBefore: .distantFuture)
    }
    #expect(events.last == event(.removed(.age), nil, 3))
  }

  @Test func `room made for others is reported as such`() async throws {
    let files = FaultyFiles()
    let events = try await events(Options(fileSystem: files)) { store in
      for number in 0..<20 { try store.put([1], for: ByteString("k\(number)")) }
      let fault = CountedFault(after: 0, SystemError(ENOSPC)) { $0.kind == .write }
      files.faults.set { fault.check($0) }
      try store.put([2], for: "last")
    }
    #expect(events.contains(event(.removed(.freeSpace), nil, 1)))
    #expect(events.contains(event(.stored, "last", 1)))
  }

  @Test func `damage is a miss and then a removal`() async throws {
    let events = try await events { store in
      try store.put([1, 2, 3], for: "a")
      sandbox.overwrite(try #require(sandbox.bodies.first), [1, 2, 4])
      _ = store.lookUp("a")
      store.waitUntilIdle()
      _ = store.lookUp("a")
    }
    #expect(
      events == [
        event(.stored, "a", 3), event(.miss(.damaged), "a"), event(.removed(.damaged), nil, 3),
        event(.miss(.absent), "a"),
      ])
  }

  @Test func `a slow listener keeps the newest events`() async throws {
    let store = try sandbox.open()
    let stream = store.events(bufferingNewest: 2)
    for key: ByteString in ["a", "b", "c"] { try store.put([1], for: key) }
    store.close()
    var keys: [ByteString?] = []
    for await event in stream { keys.append(event.key) }
    #expect(keys == ["b", "c"])
  }

  @Test func `all listeners hear and a stream after the end is at its end`() async throws {
    let store = try sandbox.open()
    let (one, two) = (store.events(), store.events())
    try store.put([1], for: "a")
    store.close()
    for stream in [one, two] {
      var count = 0
      for await _ in stream { count += 1 }
      #expect(count == 1)
    }
  }
}
