import Testing

@testable import CacheFormat

/// Reads the whole text as one value; nil when it is accepted.
private func refusal(of bytes: [UInt8]) -> FormatError.Code? {
  do throws(FormatError) {
    var reader = JSONReader(bytes)
    try reader.checkEncoding()
    try reader.skipValue()
    try reader.finish()
    return nil
  } catch {
    return error.code
  }
}

private func string(_ text: String) throws(FormatError) -> [UInt8] {
  var reader = JSONReader(Array(text.utf8))
  let value = try reader.readString()
  try reader.finish()
  return value
}

private func unsigned(_ text: String) throws(FormatError) -> UInt64 {
  var reader = JSONReader(Array(text.utf8))
  let value = try reader.readUnsigned()
  try reader.finish()
  return value
}

@Suite struct JSONReaderTests {
  @Test(arguments: [
    "{}", "[]", "[[],{}]", " \t\r\n1 ", "0", "-0", "-1", "1.5e+10", "1E-2", "0.0", "true", "false",
    "null", "\"\"", "\"\\u00e4\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "{\"a\":1,\"b\":[true,null]}",
    "\"\\ud83d\\ude00\"", "\"\u{7f}\u{10ffff}\"", "123456789012345678901234567890",
  ])
  func `JSON is accepted`(text: String) {
    #expect(refusal(of: Array(text.utf8)) == nil)
  }

  @Test(arguments: [
    "", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}",
    "{\"a\":1,}", "{,}", "{a:1}", "{'a':1}", "{\"a\":1 \"b\":2}", "{1:1}", "01", "-", "+1", ".5",
    "1.", "1e", "1e+", "-01", "0x10", "NaN", "Infinity", "tru", "truex", "nul", "\"", "\"\\\"",
    "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"",
    "\"\\udc00\\udc00\"",
    "\"\\ud800\\\"", "\"\\ud800\\ud800\"", "\"\n\"", "\"\0\"", "1 1", "{} x", "[] []", "\u{feff}1",
    "// x\n1", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "[{\"b\":1,\"b\":1}]",
  ])
  func `what is no JSON is refused`(text: String) {
    #expect(refusal(of: Array(text.utf8)) == .notJSON)
  }

  @Test(
    arguments: [
      [0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xe2, 0x82, 0x22], [0x22, 0x80, 0x22],
    ] as [[UInt8]])
  func `what is no UTF-8 is refused`(bytes: [UInt8]) {
    #expect(refusal(of: bytes) == .notJSON)
  }

  @Test(
    arguments: [
      ([0xff], 0), ([0x61, 0xc3, 0xa4, 0x80], 3), ([0x61, 0xe2, 0x82], 1),
      ([0xf0, 0x9f, 0x98, 0x80, 0xed, 0xa0, 0x80, 0x61], 4), ([0x61, 0xc3, 0x61, 0xff], 1),
    ] as [([UInt8], Int)])
  func `the error names the first byte that is not UTF-8`(bytes: [UInt8], offset: Int) {
    #expect(throws: FormatError(.notJSON, at: offset, "the text is not UTF-8")) {
      try JSONReader(bytes).checkEncoding()
    }
  }

  @Test func `nesting is accepted up to its limit and refused behind it`() {
    let limit = JSONReader.maximumDepth
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
      func nested(_ depth: Int) -> [UInt8] {
        let start = String(repeating: open, count: depth)
        return Array((start + "1" + String(repeating: close, count: depth)).utf8)
      }
      #expect(refusal(of: nested(limit)) == nil)
      #expect(refusal(of: nested(limit + 1)) == .notJSON)
      #expect(refusal(of: Array(String(repeating: open, count: 200_000).utf8)) == .notJSON)
    }
  }

  @Test func `members are accepted up to their limit`() {
    func object(_ count: Int) -> [UInt8] {
      Array("{\((0..<count).map { "\"m\($0)\":0" }.joined(separator: ","))}".utf8)
    }
    #expect(refusal(of: object(JSONReader.maximumMembers)) == nil)
    #expect(refusal(of: object(JSONReader.maximumMembers + 1)) == .tooLarge)
  }

  @Test(arguments: [
    ("\"\\u0000\\u001f\\u007F\"", "\0\u{1f}\u{7f}"), ("\"\\u00E4\\u20ac\"", "ä€"),
    ("\"\\uD83D\\uDE00\"", "😀"), ("\"a\\/b\\\\\\\"\"", "a/b\\\""), ("\"\"", ""),
    ("\"\\b\\f\\n\\r\\t\"", "\u{8}\u{c}\n\r\t"), ("\"\\ufffe\\uffff\"", "\u{fffe}\u{ffff}"),
  ])
  func `escapes are taken back`(text: String, value: String) throws {
    #expect(try string(text) == Array(value.utf8))
  }

  @Test func `numbers are read up to 64 bits`() throws {
    #expect(try unsigned("0") == 0)
    #expect(try unsigned("18446744073709551615") == .max)
  }

  @Test(
    arguments: [
      ("18446744073709551616", .outOfBounds, 0), ("99999999999999999999999", .outOfBounds, 0),
      ("-1", .wrongType, 0), ("1.0", .wrongType, 0), ("1e3", .wrongType, 0),
      (" true", .wrongType, 1),
      ("\"1\"", .wrongType, 0), ("[1]", .wrongType, 0), ("01", .notJSON, 1), ("x", .notJSON, 0),
    ] as [(String, FormatError.Code, Int)])
  func `other numbers are refused where they stand`(
    text: String, code: FormatError.Code, offset: Int
  ) {
    let error = #expect(throws: FormatError.self) { try unsigned(text) }
    #expect(error?.code == code)
    #expect(error?.offset == offset)
  }
}
