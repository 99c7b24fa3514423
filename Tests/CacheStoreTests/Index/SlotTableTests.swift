import TestSupport
import Testing

@testable import CacheStore

/// How the hashes of a run are spread.
enum HashSpread: CaseIterable, Sendable {
  case random
  /// The top 24 bits are equal: the page cannot be split any further.
  case sharedTop
  /// The upper half is equal, the table sees one hash.
  case sharedUpperHalf
  /// Few hashes, each many times.
  case few

  func hash(_ random: inout SplitMix64) -> UInt64 {
    switch self {
    case .random: random.next()
    case .sharedTop: 0xabcd_ef00_0000_0000 | random.next() >> 24
    case .sharedUpperHalf: 0x1234_5678_0000_0000 | random.next() >> 32
    case .few: (random.next() % 40) &* 0x0673_1234_9e37_79b9
    }
  }
}

@Suite struct SlotTableTests {
  @Test(arguments: HashSpread.allCases, [UInt64](1...2))
  func `a table and its model agree`(spread: HashSpread, seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var table = SlotTable()
    var hashes: [UInt32: UInt64] = [:]
    var order: [UInt32] = []
    // Equal hashes make every probe long.
    let steps = spread == .random ? 40_000 : 3_000
    for step in 0..<steps {
      if order.isEmpty || random.below(10) < 7 {
        let slot = UInt32(step)
        let hash = spread.hash(&random)
        table.insert(hash, slot)
        hashes[slot] = hash
        order.append(slot)
      } else {
        order.swapAt(random.below(order.count), order.count - 1)
        let slot = order.removeLast()
        guard let hash = hashes.removeValue(forKey: slot) else { continue }
        table.remove(hash, slot)
        if table.find(hash, where: { $0 == slot }) != nil {
          Issue.record("slot \(slot) is still there; seed \(seed), step \(step)")
        }
      }
      if step % 500 == 0, !table.checkInvariants() {
        Issue.record("the table contradicts itself; seed \(seed), step \(step)")
      }
    }
    for (slot, hash) in hashes where table.find(hash, where: { $0 == slot }) != slot {
      Issue.record("slot \(slot) is lost; seed \(seed), \(spread)")
    }
    #expect(!hashes.isEmpty)
  }

  @Test(arguments: HashSpread.allCases)
  func `a look-up offers each slot of its hash once, and no other hash's`(spread: HashSpread) {
    var random = SplitMix64(seed: 7)
    var table = SlotTable()
    var slots: [UInt32: Set<UInt32>] = [:]
    for slot in 0..<UInt32(1_500) {
      let hash = spread.hash(&random)
      table.insert(hash, slot)
      slots[UInt32(hash >> 32), default: []].insert(slot)
    }
    for (upper, expected) in slots {
      var offered: [UInt32] = []
      _ = table.find(UInt64(upper) << 32) { slot in
        offered.append(slot)
        return false
      }
      #expect(offered.count == expected.count)
      #expect(Set(offered) == expected)
    }
  }

  @Test func `removing what is not there changes nothing`() {
    var table = SlotTable()
    table.insert(5 << 32, 1)
    table.remove(5 << 32, 2)
    table.remove(6 << 32, 1)
    #expect(table.find(5 << 32) { $0 == 1 } == 1)
  }

  @Test func `the memory of a full table is near 16 bytes a slot`() {
    var random = SplitMix64(seed: 3)
    var table = SlotTable()
    for slot in 0..<UInt32(60_000) { table.insert(random.next(), slot) }
    #expect(table.memoryBytes < 60_000 * 22)
  }
}
