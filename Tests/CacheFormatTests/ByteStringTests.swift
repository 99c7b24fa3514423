import CacheFormat
import Testing

@Suite struct ByteStringTests {
  @Test(arguments: [
    ("", "", true), ("a", "", true), ("abc", "ab", true), ("abc", "abc", true),
    ("abc", "abcd", false), ("abc", "b", false), ("", "a", false),
    ("0123456789abcdef", "0123456789abcde", true), ("0123456789abcdef", "0123456x", false),
  ])
  func `a prefix fits or not`(text: String, prefix: String, fits: Bool) {
    #expect(ByteString(text).hasPrefix(ByteString(prefix)) == fits)
  }

  @Test(arguments: 0..<40)
  func `a difference in any byte makes two byte strings unequal`(length: Int) {
    let bytes = (0..<length).map { UInt8($0) }
    let original = ByteString(bytes: bytes)
    #expect(original == ByteString(bytes: bytes.map { $0 }))
    #expect(original != ByteString(bytes: bytes + [0]))
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      #expect(original != ByteString(bytes: changed))
    }
  }

  @Test func `equal byte strings have equal hashes`() {
    let set: Set<ByteString> = ["a", "b", ByteString(bytes: [97]), ""]
    #expect(set.count == 3)
    #expect(set.contains(ByteString(bytes: [])))
  }

  @Test func `order is that of unsigned bytes, the prefix first`() {
    let sorted: [ByteString] = ["", "a", "aa", "b", ByteString(bytes: [0x80]), "\u{e4}"]
    #expect(sorted.reversed().sorted() == sorted)
  }

  @Test func `text is given only when it is valid UTF-8`() {
    #expect(ByteString("grün").string == "grün")
    #expect(ByteString(bytes: [0x61, 0xff]).string == nil)
    #expect(ByteString(bytes: [0x61, 0xff]).description == "a\u{fffd}")
    #expect(ByteString(bytes: [0xed, 0xa0, 0x80]).string == nil)
  }

  @Test func `two spellings of one character are two byte strings`() {
    #expect(ByteString("\u{e9}") != ByteString("e\u{301}"))
  }
}
