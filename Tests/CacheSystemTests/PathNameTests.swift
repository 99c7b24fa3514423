import CacheSystem
import Testing

@Suite struct PathNameTests {
  @Test func `a path is what was appended`() {
    var path = PathName("3f")
    path.append(0x2f)
    path.appendHex(0xabc, digits: 5)
    let suffix: StaticString = ".log"
    path.append(suffix)
    path.append(PathName("x"))
    #expect(path.text == "3f/00abc.logx")
    #expect(path.count == 13)
    #expect(path.bytes == Array("3f/00abc.logx".utf8))
  }

  @Test(arguments: [
    (0, 16, "0000000000000000"), (UInt64.max, 16, "ffffffffffffffff"), (0x1234, 2, "34"),
    (5, 0, ""), (0x0123_4567_89ab_cdef, 16, "0123456789abcdef"),
  ])
  func `the lowest digits are appended`(value: UInt64, digits: Int, text: String) {
    var path = PathName()
    path.appendHex(value, digits: digits)
    #expect(path.text == text)
  }

  @Test(
    arguments: [
      ("00ff", 0..<4, 0xff), ("x0123456789abcdefx", 1..<17, 0x0123_4567_89ab_cdef),
      ("ffffffffffffffff", 0..<16, .max), ("7", 0..<1, 7), ("", 0..<0, nil), ("12", 0..<3, nil),
      ("12", -1..<1, nil), ("1g", 0..<2, nil), ("1F", 0..<2, nil), ("+1", 0..<2, nil),
      ("00000000000000001", 0..<17, nil),
    ] as [(String, Range<Int>, UInt64?)])
  func `hex digits are read, and nothing else`(text: String, range: Range<Int>, value: UInt64?) {
    #expect((PathName(bytes: Array(text.utf8)) ?? PathName()).hex(in: range) == value)
  }

  @Test func `a suffix is that of all bytes`() {
    let path = PathName("a.body")
    #expect(path.hasSuffix(".body"))
    #expect(path.hasSuffix("a.body"))
    #expect(!path.hasSuffix("aa.body"))
    #expect(!path.hasSuffix(".bodx"))
    #expect(!path.hasSuffix(".bod"))
  }

  @Test func `bytes up to the capacity are taken, more are not`() {
    let longest = [UInt8](repeating: 0x61, count: PathName.capacity)
    #expect(PathName(bytes: longest)?.bytes == longest)
    #expect(PathName(bytes: longest + [0x61]) == nil)
  }

  @Test func `paths are joined up to the capacity`() {
    let half = [UInt8](repeating: 0x61, count: 127)
    var path = PathName(bytes: half) ?? PathName()
    path.append(PathName("/"))
    path.append(PathName(bytes: half) ?? PathName())
    #expect(path.bytes == half + [0x2f] + half)
  }

  @Test(arguments: [[], [0], [0x61, 0], [0, 0x61]] as [[UInt8]])
  func `no bytes and NUL are refused`(bytes: [UInt8]) {
    #expect(PathName(bytes: bytes) == nil)
  }

  @Test func `bytes that are no text are kept, and repaired for messages`() {
    let path = PathName(bytes: [0xff, 0x61])
    #expect(path?.bytes == [0xff, 0x61])
    #expect(path?.text == "\u{fffd}a")
  }

  @Test func `a path beyond the capacity is a programmer's error`() async {
    await #expect(processExitsWith: .failure) {
      var path = PathName()
      for _ in 0...PathName.capacity { path.append(0x61) }
    }
  }
}
