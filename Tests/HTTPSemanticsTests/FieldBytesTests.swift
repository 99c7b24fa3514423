import Testing

@testable import HTTPSemantics

struct FieldBytesTests {
  @Test(arguments: [
    ("", ""), (" ", ""), ("\t a b \t", "a b"), ("a", "a"), ("\u{b}a", "\u{b}a"),
  ])
  func `spaces and tabs at the ends are taken away`(text: String, expected: String) {
    #expect(FieldBytes.trimmed(Array(text.utf8)[...]).elementsEqual(expected.utf8))
  }

  @Test(
    arguments: [
      ("0", 0), ("0010", 10), ("9223372036854775807", 9_223_372_036_854_775_807),
      ("9223372036854775808", nil), ("18446744073709551615", nil), ("18446744073709551619", nil),
      ("18446744073709551616", nil), ("99999999999999999999999999", nil), ("", nil), ("-1", nil),
      ("+1", nil), ("1 ", nil), ("0x1", nil), ("１", nil),
    ] as [(String, UInt64?)])
  func `a number is digits that fit`(text: String, expected: UInt64?) {
    #expect(FieldBytes.number(Array(text.utf8)[...]) == expected)
  }

  @Test(arguments: [("bytes=0", true), ("ByTeS=", true), ("bytes", false), ("xbytes=", false)])
  func `a prefix has no case`(text: String, starts: Bool) {
    #expect(
      FieldBytes.starts(Array("  \(text)".utf8).dropFirst(2), withLowercase: "bytes=") == starts)
  }
}
