import CacheFormat
import TestSupport
import Testing

@Suite struct KeyHashTests {
  private let hash = KeyHash(high: 0x3fa0_7c11_2233_4455, low: 0x0102_0304_0506_0708)

  @Test func `the names are 2 and 30 digits`() {
    #expect(hash.shardName == "3f")
    #expect(hash.directoryName == "a07c112233445501020304050607" + "08")
    #expect(hash.description == hash.shardName + hash.directoryName)
  }

  @Test func `names are read back`() {
    var generator = SplitMix64(seed: 5)
    for _ in 0..<200 {
      let hash = KeyHash(high: generator.next(), low: generator.next())
      let again = KeyHash(
        shardName: Array(hash.shardName.utf8), directoryName: Array(hash.directoryName.utf8))
      #expect(again == hash)
    }
  }

  @Test(arguments: [
    ("3", "a07c11223344550102030405060708"), ("3f0", "a07c11223344550102030405060708"),
    ("3F", "a07c11223344550102030405060708"), ("3f", "a07c1122334455010203040506070"),
    ("3f", "a07c112233445501020304050607080"), ("3f", "a07c1122334455 102030405060708"),
    ("..", "a07c11223344550102030405060708"), ("3f", ""), ("", ""),
  ])
  func `any other name is refused`(shard: String, directory: String) {
    #expect(
      KeyHash(shardName: Array(shard.utf8), directoryName: Array(directory.utf8)) == nil)
  }

  @Test func `another seed gives another hash`() {
    #expect(KeyHash(hashing: "key", seed: 1) != KeyHash(hashing: "key", seed: 2))
  }
}
