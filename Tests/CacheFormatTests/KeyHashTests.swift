import CacheFormat
import Testing

@Suite struct KeyHashTests {
  private let hash = KeyHash(high: 0x3fa0_7c11_2233_4455, low: 0x0102_0304_0506_0708)

  @Test func `the names are 2 and 30 digits`() {
    #expect(hash.shardName == "3f")
    #expect(hash.directoryName == "a07c112233445501020304050607" + "08")
    #expect(hash.description == hash.shardName + hash.directoryName)
  }

  @Test func `another seed gives another hash`() {
    #expect(KeyHash(hashing: "key", seed: 1) != KeyHash(hashing: "key", seed: 2))
  }
}
