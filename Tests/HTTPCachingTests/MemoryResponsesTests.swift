import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct MemoryResponsesTests {
  private func variant(
    _ key: ByteString, _ number: UInt64 = 0, bytes: Int = 10, at seconds: Int64 = 0
  ) throws -> StoredVariant {
    try storedVariant(key, number, bytes: bytes, source: .memory, at: seconds)
  }

  @Test func `a freshened response takes its place, unless it was removed meanwhile`() throws {
    let responses = MemoryResponses(bytes: 100_000)
    let old = try variant("a")
    let fresh = old.with(old.response)
    #expect(!responses.replace(old, by: fresh))
    #expect(responses.insert(old))
    #expect(responses.replace(old, by: fresh))
    #expect(responses.find("a").count == 1 && responses.find("a").first === fresh)
    #expect(responses.remove("a") == 1)
    #expect(!responses.replace(old, by: fresh))
    // Another response under the same key is left alone.
    let newer = try variant("a", bytes: 11, at: 5)
    #expect(responses.insert(newer))
    #expect(!responses.replace(old, by: fresh))
    #expect(responses.find("a").first === newer)
  }

  @Test func `the oldest go first, and a new one of the same variant takes no room twice`() throws {
    let responses = MemoryResponses(bytes: 10_000)
    for _ in 0..<20 { #expect(responses.insert(try variant("same", bytes: 3000))) }
    #expect(responses.insert(try variant("same", 1, bytes: 3000)))
    #expect(responses.find("same").count == 2)
    #expect(responses.insert(try variant("next", bytes: 3000)))
    #expect(responses.find("same").map(\.info.variant) == [1])
    #expect(!responses.insert(try variant("large", bytes: 10_000)))
    #expect(responses.find("next").count == 1)
  }

  @Test func `a response is removed only if it is still the same, in memory and in the store`()
    throws
  {
    let sandbox = try CacheSandbox(memoryOnlyBytes: 1 << 20)
    let cache = sandbox.cache
    for isInMemory in [true, false] {
      let infos = try ([1, 2] as [UInt64]).map { seed in
        let forwarding = try #require(sandbox.forward(request()))
        let answer = head(200, [HTTPField("Cache-Control", "max-age=9")])
        guard case .pass(_, .yes(let plan)) = sandbox.receive(answer, forwarding) else {
          throw Unexpected()
        }
        let body = content(10, seed: seed)
        return isInMemory
          ? try cache.keepInMemory(body, plan, metadata: plan.metadata, now: moment(0))
          : try plan.store(body, in: sandbox.store)
      }
      cache.removeIfSame(infos[0])
      #expect(try sandbox.served(request())?.body == content(10, seed: 2))
      cache.removeIfSame(infos[1])
      #expect(try sandbox.served(request()) == nil)
    }
  }

  @Test func `removals are by key, by variant, by time and of all`() throws {
    let responses = MemoryResponses(bytes: 1 << 20)
    for (index, key) in (["a", "a", "b", "c", "d"] as [ByteString]).enumerated() {
      #expect(responses.insert(try variant(key, UInt64(index), at: Int64(index))))
    }
    #expect(responses.remove("a") { $0.variant == 1 } == 1)
    #expect(responses.find("a").map(\.info.variant) == [0])
    #expect(responses.remove("b") == 1)
    #expect(responses.remove("b") == 0)
    responses.removeAll(since: moment(4))
    #expect(responses.find("d").isEmpty && !responses.find("c").isEmpty)
    responses.removeAll()
    #expect(responses.find("a").isEmpty && responses.find("c").isEmpty)
  }
}
