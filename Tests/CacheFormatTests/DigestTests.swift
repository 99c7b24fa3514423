import CacheFormat
import Testing

@Suite struct DigestTests {
  @Test func `digits are written and read back`() {
    let digest = Digest(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210)
    #expect(digest.description == "0123456789abcdeffedcba9876543210")
    #expect(Digest(digits: Array(digest.description.utf8)) == digest)
  }

  @Test(arguments: [
    "", "0123456789abcdeffedcba987654321", "0123456789abcdeffedcba98765432100",
    "0123456789abcdefFedcba9876543210", "0123456789abcde\0fedcba9876543210",
  ])
  func `anything but 32 lower-case digits is refused`(text: String) {
    #expect(Digest(digits: Array(text.utf8)) == nil)
  }
}
