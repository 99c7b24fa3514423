import CacheFormat
import CacheStore
import Foundation
import Testing

@Suite struct StoreOutlineTests {
  let sandbox = StoreSandbox()

  private func pairs(_ store: Store, _ key: ByteString) -> [UInt64: UInt64] {
    var found: [UInt64: UInt64] = [:]
    for item in store.outline(of: key) { found[item.variant] = item.length }
    return found
  }

  @Test func `an outline has the variant and the length of each stored response`() throws {
    let store = try sandbox.open()
    #expect(store.outline(of: "k").isEmpty)
    for number in 0..<64 {
      try store.put(TestBody.make(number, seed: 1), for: "k", variant: UInt64(number) &* 1 << 58)
    }
    try store.put([1], for: "l")
    let expected = Dictionary(
      uniqueKeysWithValues: (0..<64).map { (UInt64($0) &* 1 << 58, UInt64($0)) })
    #expect(pairs(store, "k") == expected)
    try store.remove("k", variant: 0)
    try store.put([1, 2, 3], for: "k", variant: 1 << 58)
    #expect(pairs(store, "k")[0] == nil)
    #expect(pairs(store, "k")[1 << 58] == 3)
  }

  @Test func `an outline is no access`() throws {
    let clock = SteppingClock()
    let store = try sandbox.open(Options(clock: clock))
    let stored = try store.put([1], for: "k")
    clock.move(seconds: 60)
    _ = store.outline(of: "k")
    #expect(store.info(for: "k")?.accessed == stored.accessed)
    #expect(store.statistics.hits == 0 && store.statistics.misses == 0)
  }

  @Test func `an outline shows what another process has changed`() throws {
    let store = try sandbox.open()
    let other = try sandbox.open()
    try store.put([1], for: "k")
    #expect(pairs(other, "k") == [0: 1])
    try other.put([1, 2], for: "k")
    #expect(pairs(store, "k") == [0: 2])
    try other.removeAll()
    #expect(pairs(store, "k").isEmpty)
  }

  @Test func `an outline is whole without a journal`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k")
    try store.put([1, 2], for: "k", variant: 7)
    store.close()
    sandbox.remove("journal")
    #expect(try pairs(sandbox.open(), "k") == [0: 1, 7: 2])
  }

  @Test func `what was read stays good until it is changed`() throws {
    let store = try sandbox.open()
    let other = try sandbox.open()
    try store.put([1], for: "k")
    try store.put([2], for: "l")
    let outline = store.outline(of: "k")
    #expect(outline.map(\.isLasting) == [true])
    #expect(store.revisit("k", outline))
    try store.put([1], for: "l")
    #expect(store.revisit("k", outline))
    #expect(!store.revisit("l", outline))
    #expect(!store.revisit("m", []))
    try other.update("k") { $0.status = 200 }
    #expect(!store.revisit("k", outline))
    let next = store.outline(of: "k")
    #expect(store.revisit("k", next))
    try other.remove("k")
    #expect(!store.revisit("k", next))
    try other.put([1], for: "k")
    #expect(!store.revisit("k", next))
    let last = store.outline(of: "k")
    store.close()
    #expect(!store.revisit("k", last))
  }

  @Test func `a new variant and a removed one make an outline old`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k")
    let one = store.outline(of: "k")
    try store.put([1], for: "k", variant: 5)
    #expect(!store.revisit("k", one))
    let two = store.outline(of: "k")
    #expect(store.revisit("k", two))
    try store.remove("k", variant: 5)
    #expect(!store.revisit("k", two))
  }
}
