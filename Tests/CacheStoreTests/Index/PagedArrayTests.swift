import TestSupport
import Testing

@testable import CacheStore

@Suite struct PagedArrayTests {
  @Test func `elements keep their places over many pages`() {
    var array = PagedArray<Int>(filler: -1)
    let count = 3 * PagedArray<Int>.pageCount + 5
    for number in 0..<count { array.append(number * 7) }
    #expect(array.count == count)
    #expect((0..<count).allSatisfy { array[$0] == $0 * 7 })
    array[PagedArray<Int>.pageCount] = 3
    #expect(array[PagedArray<Int>.pageCount] == 3)
    #expect(array[PagedArray<Int>.pageCount - 1] == (PagedArray<Int>.pageCount - 1) * 7)
  }

  @Test(arguments: 0..<4)
  func `an array and its model agree`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var array = PagedArray<UInt64>(filler: 0)
    var model: [UInt64] = []
    for step in 0..<30_000 {
      // Phases of growing and shrinking cross the border of a page in both directions.
      let grows = (step / 5_000).isMultiple(of: 2) ? 9 : 3
      if model.isEmpty || random.below(10) < grows {
        let value = random.next()
        array.append(value)
        model.append(value)
      } else {
        if array.removeLast() != model.removeLast() { Issue.record("seed \(seed), step \(step)") }
      }
      if !model.isEmpty {
        let place = random.below(model.count)
        if random.below(4) == 0 {
          array[place] = random.next()
          model[place] = array[place]
        }
        if array[place] != model[place] { Issue.record("seed \(seed), step \(step)") }
      }
    }
    #expect(array.count == model.count)
    #expect(model.indices.allSatisfy { array[$0] == model[$0] }, "seed \(seed)")
  }
}
