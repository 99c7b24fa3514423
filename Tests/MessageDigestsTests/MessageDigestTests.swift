import MessageDigests
import Testing

struct MessageDigestTests {
  /// RFC 1321, section A.5, and the examples of FIPS 180-4: the digests of "abc".
  @Test(arguments: [
    (DigestAlgorithm.md5, "900150983cd24fb0d6963f7d28e17f72"),
    (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      .sha512,
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    ),
  ])
  func `the published examples`(algorithm: DigestAlgorithm, expected: String) {
    #expect(hex(MessageDigest.of(Array("abc".utf8), algorithm)) == expected)
  }

  @Test(arguments: DigestAlgorithm.allCases)
  func `pieces make the same digest as the whole`(algorithm: DigestAlgorithm) {
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 * 31) }
    let digest = MessageDigest(algorithm)
    digest.update([])
    for start in stride(from: 0, to: bytes.count, by: 777) {
      digest.update(Array(bytes[start..<min(start + 777, bytes.count)]))
    }
    #expect(digest.finish() == MessageDigest.of(bytes, algorithm))
    #expect(MessageDigest.of(bytes, algorithm).count == algorithm.byteCount)
  }

  private func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
