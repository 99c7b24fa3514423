import CacheFormat
import Testing

@Suite struct FieldTests {
  @Test func `names are kept as they are given, and compared byte by byte`() {
    #expect(Field("Accept", "x") != Field("accept", "x"))
    #expect(Field("a", "x") != Field("a", "x "))
    // The same character, composed and decomposed.
    #expect(Field("é", "") != Field("e\u{301}", ""))
    #expect(Field("", "") == Field("", ""))
  }

  @Test func `a description is for people, whatever the bytes are`() {
    #expect(Field("Accept", "text/html").description == "Accept: text/html")
    #expect(Field("", "").description == ": ")
    let bytes = Field(ByteString(bytes: [0x61, 0xff]), ByteString(bytes: [0xc3]))
    #expect(bytes.description == "a\u{fffd}: \u{fffd}")
  }
}
