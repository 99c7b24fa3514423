import TestSupport
import Testing

@testable import CacheStore

@Suite struct IndexMemoryTests {
  /// Over many regions, each as long as all before it; some pages do not fit into what is left of one.
  @Test(arguments: [nil, "/tmp", "/nonexistent"])
  func `pages keep their values, side by side, however often their memory is let go of`(
    folder: String?
  ) {
    let memory = IndexMemory(in: folder)
    #expect(memory.isFile == (folder == "/tmp"))
    let seed = UInt64.random(in: .min ... .max)
    var random = SplitMix64(seed: seed)
    var pages: [UnsafeMutableBufferPointer<UInt64>] = unsafe []
    for number in 0..<200 {
      // The last but one is longer than all regions so far.
      let count = number == 198 ? 12_000_000 : 1 + random.below(60_000)
      let page = unsafe UnsafeMutableBufferPointer(
        start: memory.page(of: count, filledWith: UInt64.max), count: count)
      #expect(unsafe page.allSatisfy { $0 == .max }, "seed \(seed), page \(number)")
      unsafe page.update(repeating: UInt64(number))
      unsafe pages.append(page)
      for _ in 0..<300 { memory.visit() }
    }
    for number in 0..<200 {
      let isWhole = unsafe pages[number].allSatisfy { $0 == UInt64(number) }
      #expect(isWhole, "seed \(seed), page \(number)")
    }
  }
}
