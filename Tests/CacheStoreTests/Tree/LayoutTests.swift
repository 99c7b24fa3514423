import CacheFormat
import CacheStore
import CacheSystem
import TestSupport
import Testing

@Suite struct LayoutTests {
  @Test func `the hash of a key is read back from the name of its directory`() {
    var generator = SplitMix64(seed: 5)
    for _ in 0..<200 {
      let hash = KeyHash(high: generator.next(), low: generator.next())
      #expect(Layout.keyHash(Layout.key(hash), inShard: Layout.shardNumber(of: hash)) == hash)
    }
  }

  @Test(arguments: [
    "A07c11223344550102030405060708", "a07c1122334455010203040506070",
    "a07c112233445501020304050607080", "a07c1122334455 102030405060708", "..",
  ])
  func `any other name is refused`(name: String) throws {
    let path = try #require(PathName(bytes: Array(name.utf8)))
    #expect(Layout.keyHash(path, inShard: 0x3f) == nil)
  }
}
