import CacheFormat
import Testing

@Suite struct FormatErrorTests {
  @Test func `an error says its place, its cause and its code`() {
    let error = FormatError(.newerFormat, at: 12, "the document has format 2, newer than 1")
    #expect(
      error.description
        == "byte 12: the document has format 2, newer than 1 (newerFormat)")
  }
}
