import CacheFormat
import TestSupport
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
    var random = SplitMix64(seed: seed)
    var tier = MemoryTier(capacity: 20_000)
    var model: [UInt32: (number: UInt64, body: [UInt8])] = [:]
    for step in 0..<5_000 {
      let slot = UInt32(random.below(120))
      switch random.below(10) {
      case 0..<4:
        let number = random.next()
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: random.below(900))
        let gone = tier.insert(slot, Self.record(number), body)
        model[slot] = (number, body)
        #expect(!gone.contains(slot), "seed \(seed), step \(step)")
        for slot in gone where model.removeValue(forKey: slot) == nil {
          Issue.record("\(slot) was not there; seed \(seed), step \(step)")
        }
      case 4:
        tier.remove(slot)
        model[slot] = nil
      default:
        let found = tier.find(slot)
        #expect(found?.body == model[slot]?.body, "seed \(seed), step \(step)")
        #expect(found?.record.head.keyHash.low == model[slot]?.number)
      }
      let bytes = model.values.reduce(0) { $0 + $1.body.count + Self.overhead }
      if tier.count != model.count || tier.bytes != bytes || bytes > 20_000 {
        Issue.record("seed \(seed), step \(step): \(tier.bytes) bytes")
      }
    }
    tier.removeAll()
    #expect(tier.count == 0)
    #expect(tier.bytes == 0)
    #expect((0..<120).allSatisfy { tier.find($0) == nil })
  }

  /// What the tier charges for an entry beside its body: the record, and 128 bytes for its places.
  private static var overhead: Int { record(0).bytes.count + 128 }

  @Test func `what is used stays when the others leave`() {
    var tier = MemoryTier(capacity: 20_000)
    var gone: Set<UInt32> = []
    for slot in 0..<UInt32(500) {
      gone.formUnion(tier.insert(slot, Self.record(1), [UInt8](repeating: 1, count: 500)))
      #expect(tier.find(0) != nil, "used between any two insertions")
    }
    #expect(gone.count > 400)
    #expect(!gone.contains(0))
  }

  @Test func `one entry may take an eighth, and none where there is no capacity`() {
    for (capacity, size, admits) in [(800, 100, true), (800, 101, false), (0, 1, false)] {
      let isAdmitted = MemoryTier(capacity: capacity).admits(size)
      #expect(isAdmitted == admits)
    }
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
