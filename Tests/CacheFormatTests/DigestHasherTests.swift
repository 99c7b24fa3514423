import Testing

@testable import CacheFormat

@Suite struct DigestHasherTests {
  @Test func `asking for the digest does not end the stream`() {
    let bytes = sampleBytes(1000)
    var hasher = DigestHasher()
    hasher.update(Array(bytes[..<400]))
    #expect(hasher.digest() == Digest(hashing: Array(bytes[..<400])))
    hasher.update(Array(bytes[400...]))
    #expect(hasher.digest() == Digest(hashing: bytes))
  }

  @Test func `a reset hasher has seen nothing`() {
    var hasher = DigestHasher()
    hasher.update(sampleBytes(300))
    hasher.reset()
    #expect(hasher.count == 0)
    #expect(hasher.digest() == Digest(hashing: []))
    hasher.update([])
    #expect(hasher.digest() == Digest(hashing: []))
  }
}
