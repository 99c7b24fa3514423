import TestSupport
import Testing

@testable import CacheStore

@Suite struct AccessHeapTests {
  @Test(arguments: 0..<6)
  func `the heap keeps its order through every step`(seed: UInt64) {
    // What it holds shows when it is emptied, so the same steps are done again and again.
    for count in stride(from: 5, through: 600, by: 35) { run(seed, steps: count) }
  }

  private func run(_ seed: UInt64, steps: Int) {
    var random = SplitMix64(seed: seed)
    var heap = AccessHeap()
    var model: [UInt32: Int64] = [:]
    for step in 0..<steps {
      let choice = random.below(10)
      if choice < 5 || model.isEmpty {
        // Few different times, so that many are equal; some of them before 1970.
        let time = Int64(random.below(50)) - 25
        heap.insert(UInt32(step), at: time)
        model[UInt32(step)] = time
      } else if let first = heap.first {
        if choice < 8 {
          heap.removeFirst()
          model[first.slot] = nil
        } else {
          let time = first.time + Int64(random.below(30))
          heap.delayFirst(to: time)
          model[first.slot] = time
        }
      }
      let isOrdered = heap.checkInvariants()
      #expect(isOrdered, "seed \(seed), step \(step)")
      #expect(heap.count == model.count)
    }
    let items = takeAll(&heap)
    #expect(items == model, "seed \(seed), \(steps) steps")
  }

  /// All items of a heap, which is empty then; nil where they come in a wrong order.
  private func takeAll(_ heap: inout AccessHeap) -> [UInt32: Int64]? {
    var items: [UInt32: Int64] = [:]
    var last = Int64.min
    while let first = heap.first {
      guard first.time >= last else { return nil }
      last = first.time
      items[first.slot] = first.time
      heap.removeFirst()
    }
    return items
  }

  @Test func `extreme times are ordered as numbers with a sign`() {
    var heap = AccessHeap()
    let times: [Int64] = [0, .max, -1, .min, 1, .min + 1, .max - 1]
    for (slot, time) in times.enumerated() { heap.insert(UInt32(slot), at: time) }
    var taken: [Int64] = []
    while let first = heap.first {
      #expect(times[Int(first.slot)] == first.time)
      taken.append(first.time)
      heap.removeFirst()
    }
    #expect(taken == times.sorted())
  }

  @Test func `a delayed item comes at its new time`() {
    var heap = AccessHeap()
    for slot in 0..<UInt32(100) { heap.insert(slot, at: Int64(slot)) }
    heap.delayFirst(to: 50)
    let isOrdered = heap.checkInvariants()
    #expect(isOrdered)
    #expect(heap.first?.slot == 1)
    var taken: [UInt32] = []
    while let first = heap.first {
      taken.append(first.slot)
      heap.removeFirst()
    }
    #expect(taken.firstIndex(of: 0).map { (49...50).contains($0) } == true)
  }

  @Test func `an item takes 12 bytes`() {
    var heap = AccessHeap()
    for slot in 0..<UInt32(1000) { heap.insert(slot, at: 1) }
    #expect(heap.memoryBytes == 12_000)
  }
}
