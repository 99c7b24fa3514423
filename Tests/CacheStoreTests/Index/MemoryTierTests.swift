import CacheFormat
import Testing

@testable import CacheStore

@Suite struct MemoryTierTests {
  private static func record(_ number: UInt64) -> PutRecord {
    PutRecord(
      head: PutHead(
        keyHash: KeyHash(high: 0, low: number), digest: Digest(high: 0, low: 0), variant: 0,
        length: 0, created: Timestamp(nanoseconds: 0), accessed: Timestamp(nanoseconds: 0),
        expires: nil, bodyFile: 0, overhead: 0, status: nil, isPinned: false),
      key: "key", metadata: EntryMetadata())
  }

  @Test(arguments: 0..<6)
  func `a tier and its model agree`(seed: UInt64) {
    var random = SeededRandom(seed)
    var tier = MemoryTier(capacity: 20_000)
    /// The least recently used first.
    var model: [(slot: UInt32, number: UInt64, body: [UInt8])] = []
    for step in 0..<5_000 {
      let slot = UInt32(random.below(120))
      let place = model.firstIndex { $0.slot == slot }
      switch random.below(10) {
      case 0..<4:
        let number = random.next()
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: random.below(900))
        if let place { model.remove(at: place) }
        model.append((slot, number, body))
        let gone = tier.insert(slot, Self.record(number), body)
        var expected: [UInt32] = []
        while Self.bytes(model) > 20_000 { expected.append(model.removeFirst().slot) }
        #expect(gone == expected, "seed \(seed), step \(step)")
      case 4:
        tier.remove(slot)
        if let place { model.remove(at: place) }
      default:
        let found = tier.find(slot)
        #expect(found?.body == place.map { model[$0].body }, "seed \(seed), step \(step)")
        #expect(found?.record.head.keyHash.low == place.map { model[$0].number })
        if let place { model.append(model.remove(at: place)) }
      }
      if tier.count != model.count || tier.bytes != Self.bytes(model) {
        Issue.record("seed \(seed), step \(step): \(tier.bytes) bytes")
      }
    }
    tier.removeAll()
    #expect(tier.count == 0)
    #expect(tier.bytes == 0)
    #expect((0..<120).allSatisfy { tier.find($0) == nil })
  }

  /// What the tier charges: body, record, and 128 bytes for its own places.
  private static func bytes(_ model: [(slot: UInt32, number: UInt64, body: [UInt8])]) -> Int {
    model.reduce(0) { $0 + $1.body.count + record(0).bytes.count + 128 }
  }

  @Test func `one entry may take an eighth, and none where there is no capacity`() {
    #expect(MemoryTier(capacity: 800).admits(100))
    #expect(!MemoryTier(capacity: 800).admits(101))
    #expect(!MemoryTier(capacity: 0).admits(1))
  }

  @Test func `replacing the body of a slot charges the new one alone`() {
    var tier = MemoryTier(capacity: 10_000)
    _ = tier.insert(1, Self.record(1), [UInt8](repeating: 1, count: 1_000))
    let before = tier.bytes
    _ = tier.insert(1, Self.record(2), [UInt8](repeating: 2, count: 400))
    #expect(tier.bytes == before - 600)
    #expect(tier.count == 1)
    #expect(tier.find(1)?.body.count == 400)
  }
}
