import CacheFormat
import CacheSystem
import Testing

@testable import CacheStore

@Suite struct ShardCursorTests {
  let sandbox = StoreSandbox()
  private let keys = (0..<600).map { ByteString("k\($0)") }

  private func fill() throws -> Store {
    let store = try sandbox.open()
    for key in keys { try store.put([1], for: key) }
    return store
  }

  @Test(arguments: [1, 100, 1 << 18])
  func `each shard has its entries`(maximumCount: Int) throws {
    let store = try fill()
    defer { store.close() }
    var cursor = ShardCursor(in: store.catalog, maximumCount: maximumCount)
    #expect(cursor.isWhole)
    var found: [KeyHash] = []
    for shard in 0..<Layout.shardCount {
      while let places = cursor.next(of: shard, in: store.catalog) {
        #expect(places.allSatisfy { Layout.shardNumber(of: $0.slot.keyHash) == shard })
        found += places.map(\.slot.keyHash)
      }
      // The hashes are random, so the shards have about as many each.
      let collected = cursor.numbers.reduce(0) { $0 + $1.count }
      #expect(collected <= max(2 * maximumCount, 30))
    }
    #expect(!cursor.isOutdated)
    #expect(found.count == keys.count && Set(found) == Set(keys.map(store.catalog.hash)))
  }

  @Test func `a cursor of an index that was built anew ends`() throws {
    let store = try fill()
    defer { store.close() }
    var cursor = ShardCursor(in: store.catalog)
    while cursor.next(of: 0, in: store.catalog) != nil {}
    let wasOutdated = cursor.isOutdated
    #expect(!wasOutdated)
    // The numbers that were collected are those of no slot any more.
    for key in keys { try store.remove(key) }
    try store.purge()
    store.catalog.state.withLock { store.catalog.reader.reload(&$0) }
    for shard in 1..<Layout.shardCount { #expect(cursor.next(of: shard, in: store.catalog) == nil) }
    #expect(cursor.isOutdated)
  }

  @Test func `a slot that another key has got is left out`() throws {
    let store = try sandbox.open()
    defer { store.close() }
    func key(in shard: Int) -> ByteString? {
      (0..<9_999).lazy.map { ByteString("k\($0)") }
        .first { Layout.shardNumber(of: store.catalog.hash($0)) == shard }
    }
    try store.put([1], for: try #require(key(in: 7)))
    try store.put([1], for: try #require(key(in: 8)))
    var cursor = ShardCursor(in: store.catalog)
    #expect(cursor.next(of: 6, in: store.catalog) == nil)
    try store.remove(try #require(key(in: 7)))
    try store.put([1], for: try #require(key(in: 9)))
    #expect(cursor.next(of: 7, in: store.catalog)?.isEmpty == true)
    #expect(cursor.next(of: 8, in: store.catalog)?.count == 1)
  }
}
