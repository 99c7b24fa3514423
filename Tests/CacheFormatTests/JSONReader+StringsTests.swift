import TestSupport
import Testing

@testable import CacheFormat

@Suite struct JSONReaderStringsTests {
  private func read<Value>(
    _ text: String, _ value: (inout JSONReader) throws(FormatError) -> Value
  ) throws(FormatError) -> Value {
    var reader = JSONReader(Array(text.utf8))
    let value = try value(&reader)
    try reader.finish()
    return value
  }

  private func code<Value>(
    _ text: String, _ value: (inout JSONReader) throws(FormatError) -> Value
  ) -> FormatError.Code? {
    do throws(FormatError) {
      _ = try read(text, value)
      return nil
    } catch {
      return error.code
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `any bytes come back from the string in which they were written`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let letters = Array("a\"\\/\n\t\u{7F}é\u{200B}😀".utf8) + [0, 0x1F, 0xFF, 0xC0]
    for _ in 0..<5_000 {
      let bytes = (0..<random.below(12)).map { _ in letters[random.below(letters.count)] }
      var writer = JSONWriter()
      writer.appendString(ByteString(bytes: bytes))
      let found = try read(writer.text) { (reader) throws(FormatError) in
        try reader.readByteString()
      }
      #expect(found.bytes == bytes, "\(writer.text)")
    }
  }

  @Test func `every UTF-16 code unit that is a character can stand as an escape`() throws {
    for unit in UInt16.min ... .max {
      let text = "\"\\u\(Hexadecimal.string(UInt64(unit), digits: 4))\""
      let expected = Unicode.Scalar(unit).map { Array(String(Character($0)).utf8) }
      let found = try? read(text) { (reader) throws(FormatError) in try reader.readString() }
      if found != expected { Issue.record("\(text): \(String(describing: found))") }
    }
  }

  @Test(
    arguments: [
      ("{}", .missingMember), ("{\"other\":1}", .missingMember), ("{\"base64\":1}", .wrongType),
      ("{\"base64\":\"*\"}", .outOfBounds), ("{\"base64\":\"YQ\"}", .outOfBounds),
      ("{\"base64\":\"YQ==\",\"base64\":\"YQ==\"}", .notJSON), ("[]", .wrongType),
      ("null", .wrongType), ("1", .wrongType), ("", .notJSON), ("{\"base64\":\"YQ==\"", .notJSON),
    ] as [(String, FormatError.Code)])
  func `what is no byte string is refused`(text: String, expected: FormatError.Code) {
    #expect(code(text) { (reader) throws(FormatError) in try reader.readByteString() } == expected)
  }

  @Test func `a byte string in base 64 may have members of later versions beside it`() throws {
    let text = "{\"x\":[1,{}],\"base64\":\"/wA=\",\"y\":null}"
    let found = try read(text) { (reader) throws(FormatError) in try reader.readByteString() }
    #expect(found.bytes == [0xFF, 0])
  }

  @Test(arguments: [
    "\"\"", "\"0123456789abcde\"", "\"0123456789abcdef0\"", "\"0123456789ABCDEF\"",
    "\"0x23456789abcdef\"", "\"0123456789abcde \"",
  ])
  func `a number has exactly its hex digits, in lower case`(text: String) {
    #expect(code(text) { (reader) throws(FormatError) in try reader.readHex() } == .outOfBounds)
    #expect(code(text) { (reader) throws(FormatError) in try reader.readDigest() } == .outOfBounds)
  }

  @Test func `a number and a digest are read from their digits`() throws {
    let hex = try read(" \"fedcba9876543210\" ") { (reader) throws(FormatError) in
      try reader.readHex()
    }
    #expect(hex == 0xfedc_ba98_7654_3210)
    let digest = try read("\"0000000000000001fedcba9876543210\"") {
      (reader) throws(FormatError) in try reader.readDigest()
    }
    #expect(digest == Digest(high: 1, low: hex))
  }

  @Test func `the error stands where the value begins`() {
    let error = #expect(throws: FormatError.self) {
      try read("  \"abc\"") { (reader) throws(FormatError) in try reader.readHex() }
    }
    #expect(error?.offset == 2)
    let time = #expect(throws: FormatError.self) {
      try read(" \"yesterday\"") { (reader) throws(FormatError) in try reader.readTime() }
    }
    #expect(time?.code == .outOfBounds && time?.offset == 1)
  }

  @Test(
    arguments: [
      ("[]", nil), ("[[\"a\",\"b\"]]", nil), ("[[\"a\",\"b\"],[\"a\",{\"base64\":\"\"}]]", nil),
      ("[[\"a\"]]", .wrongType), ("[[]]", .wrongType), ("[[\"a\",\"b\",\"c\"]]", .tooLarge),
      ("[\"a\"]", .wrongType), ("[[\"a\",1]]", .wrongType), ("{}", .wrongType), ("[[", .notJSON),
    ] as [(String, FormatError.Code?)])
  func `fields are pairs of name and value`(text: String, expected: FormatError.Code?) {
    #expect(code(text) { (reader) throws(FormatError) in try reader.readFields() } == expected)
  }

  @Test func `fields are read up to their limit`() {
    func fields(_ count: Int) -> String {
      "[" + Array(repeating: "[\"\",\"\"]", count: count).joined(separator: ",") + "]"
    }
    let limit = MetadataDocument.maximumItems
    #expect(code(fields(limit)) { (reader) throws(FormatError) in try reader.readFields() } == nil)
    #expect(
      code(fields(limit + 1)) { (reader) throws(FormatError) in try reader.readFields() }
        == .tooLarge)
  }
}
