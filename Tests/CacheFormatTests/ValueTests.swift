import CacheFormat
import TestSupport
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

@Suite struct KeyHashTests {
  private let hash = KeyHash(high: 0x3fa0_7c11_2233_4455, low: 0x0102_0304_0506_0708)

  @Test func `the names are 2 and 30 digits`() {
    #expect(hash.shardName == "3f")
    #expect(hash.directoryName == "a07c112233445501020304050607" + "08")
    #expect(hash.description == hash.shardName + hash.directoryName)
  }

  @Test func `names written to memory are those of the strings, and no byte more`() {
    var shard = [UInt8](repeating: 0xee, count: 3)
    var directory = [UInt8](repeating: 0xee, count: 31)
    // Safety: both arrays are one byte longer than the name.
    unsafe shard.withUnsafeMutableBufferPointer { buffer in
      unsafe hash.writeShardName(to: buffer.baseAddress!)
    }
    unsafe directory.withUnsafeMutableBufferPointer { buffer in
      unsafe hash.writeDirectoryName(to: buffer.baseAddress!)
    }
    #expect(shard == Array(hash.shardName.utf8) + [0xee])
    #expect(directory == Array(hash.directoryName.utf8) + [0xee])
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

@Suite struct DigestTests {
  @Test func `digits are written and read back`() {
    let digest = Digest(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210)
    #expect(digest.description == "0123456789abcdeffedcba9876543210")
    #expect(Digest(digits: Array(digest.description.utf8)) == digest)
    var name = [UInt8](repeating: 0xee, count: 33)
    // Safety: the array is one byte longer than the name.
    unsafe name.withUnsafeMutableBufferPointer { unsafe digest.write(to: $0.baseAddress!) }
    #expect(name == Array(digest.description.utf8) + [0xee])
  }

  @Test(arguments: [
    "", "0123456789abcdeffedcba987654321", "0123456789abcdeffedcba98765432100",
    "0123456789abcdefFedcba9876543210", "0123456789abcde\0fedcba9876543210",
  ])
  func `anything but 32 lower-case digits is refused`(text: String) {
    #expect(Digest(digits: Array(text.utf8)) == nil)
  }
}
