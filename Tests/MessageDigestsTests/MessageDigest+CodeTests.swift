import MessageDigests
import Testing

struct MessageDigestCodeTests {
  private func code(_ bytes: [UInt8], _ key: [UInt8], _ algorithm: DigestAlgorithm) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: MessageDigest.authenticationCode(of: bytes, key: key, algorithm)
        .flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  @Test func `the codes are those of RFC 4231 and RFC 2202`() {
    let question = Array("what do ya want for nothing?".utf8)
    #expect(
      code(question, Array("Jefe".utf8), .sha256)
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(
      code(question, Array("Jefe".utf8), .sha512)
        == "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65"
        + "f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737")
    #expect(code(question, Array("Jefe".utf8), .md5) == "750c783e6ab0b503eaa86e310a5db738")
    let longKey = [UInt8](repeating: 0xAA, count: 131)
    #expect(
      code(Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8), longKey, .sha256)
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }
}
