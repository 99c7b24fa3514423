import TestSupport
import Testing

@testable import HTTPSemantics

struct StructuredFieldParserTests {
  private func parse(_ bytes: [UInt8]) -> [StructuredDictionary.Member]? {
    var parser = StructuredFieldParser(bytes)
    return parser.dictionary()
  }

  private func parse(_ text: String) -> [StructuredDictionary.Member]? { parse(Array(text.utf8)) }

  private static let whole =
    "a=1;p=\"x\", b=-2.5;q, c=(1 \"y\";r=?0), d=:YQ==:, e=?1, f=tok/en, g=@12, h=%\"%c3%a4\""

  @Test func `a value that is cut within a member is refused`() throws {
    #expect(parse(Self.whole)?.count == 8)
    let bytes = Array(Self.whole.utf8)
    for count in 0..<bytes.count {
      guard let members = parse(Array(bytes[..<count])) else { continue }
      // What is left is a dictionary: an earlier member may have lost its end, but no member
      // follows a comma that is the last byte.
      #expect(members.count <= 8 && bytes[..<count].last != UInt8(ascii: ","), "\(count) bytes")
    }
  }

  @Test func `numbers have at most fifteen digits, and three behind the point`() {
    #expect(parse("a=999999999999999")?[0].value == .integer(999_999_999_999_999))
    #expect(parse("a=-999999999999999")?[0].value == .integer(-999_999_999_999_999))
    #expect(parse("a=000000000000001")?[0].value == .integer(1))
    #expect(parse("a=0000000000000001") == nil)
    #expect(parse("a=123456789012.123")?[0].value == .other)
    #expect(parse("a=1234567890123.1") == nil && parse("a=--1") == nil && parse("a=.5") == nil)
  }

  @Test func `every byte of a string stands for itself, or the string is refused`() {
    for byte in UInt8.min ... .max {
      let value = parse(Array("a=\"".utf8) + [byte] + Array("\"".utf8))?.first?.value
      switch byte {
      case 0x20, 0x21, 0x23...0x5B, 0x5D...0x7E:
        #expect(value == .string(String(decoding: [byte], as: UTF8.self)), "\(byte)")
      default: #expect(value == nil, "\(byte)")
      }
      let key = parse([byte])?.first?.key
      let isKey = byte == UInt8(ascii: "*") || (0x61...0x7A).contains(byte)
      #expect((key != nil) == isKey, "\(byte)")
    }
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `any bytes are read or refused, and what is read has keys of its own`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let letters = Array("ab=1,;(\")?:@%*.- \t\\c\u{FF}".utf8)
    for _ in 0..<30_000 {
      guard let members = parse(random.text(of: letters, upTo: 20)) else { continue }
      #expect(Set(members.map(\.key)).count == members.count)
      #expect(members.allSatisfy { !$0.key.isEmpty })
    }
    let bytes = Array(Self.whole.utf8)
    for _ in 0..<10_000 {
      var changed = bytes
      changed[random.below(bytes.count)] = UInt8(random.below(256))
      if let members = parse(changed) { #expect(members.count <= 9) }
    }
  }

  @Test func `lists and parameters that never end take bounded time`() {
    for piece in ["(", "(a ", ";a", ";a=(", "a=(1 ", "\"", "a,"] {
      let text = "a=" + String(repeating: piece, count: 100_000)
      #expect((parse(text)?.count ?? 0) <= StructuredDictionary.maximumMembers)
    }
  }
}
