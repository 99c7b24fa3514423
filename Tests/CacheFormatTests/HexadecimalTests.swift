import TestSupport
import Testing

@testable import CacheFormat

@Suite struct HexadecimalTests {
  @Test(arguments: [
    (0, 16, "0000000000000000"), (UInt64.max, 16, "ffffffffffffffff"), (0xabc, 3, "abc"),
    (0x1abc, 3, "abc"), (7, 0, ""), (0x0123_4567_89ab_cdef, 16, "0123456789abcdef"),
  ])
  func `the lowest digits are written`(value: UInt64, digits: Int, text: String) {
    #expect(Hexadecimal.string(value, digits: digits) == text)
  }

  @Test(arguments: ["", "g", "A", "0x1", " 1", "00000000000000000", "-1", "1 "])
  func `anything but 1 to 16 lower-case digits is refused`(text: String) {
    #expect(Hexadecimal.parse(Array(text.utf8)) == nil)
  }

  @Test func `digits are read back`() {
    var generator = SplitMix64(seed: 4)
    for _ in 0..<200 {
      let value = generator.next()
      #expect(Hexadecimal.parse(Array(Hexadecimal.string(value).utf8)) == value)
    }
    #expect(Hexadecimal.parse(Array("f".utf8)) == 15)
  }
}

@Suite struct HexadecimalBytesTests {
  @Test func `bytes have two lower-case digits each`() {
    #expect([UInt8](0...255).hexadecimal.hasPrefix("000102"))
    #expect(([0xDE, 0x0A] as [UInt8]).hexadecimal == "de0a")
    #expect(([] as [UInt8]).hexadecimal == "")
  }

  @Test func `digits of either case are read, and nothing else`() {
    let all = [UInt8](0...255)
    #expect([UInt8](hexadecimal: all.hexadecimal) == all)
    #expect([UInt8](hexadecimal: all.hexadecimal.uppercased()) == all)
    for text in ["a", "abc", "0g", "0x", " 0", "é", "+1", "\u{10}\u{11}", "@@", "::"] {
      #expect([UInt8](hexadecimal: text) == nil)
    }
  }
}
