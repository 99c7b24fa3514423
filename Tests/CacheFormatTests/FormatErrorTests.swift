import CacheFormat
import Testing

@Suite struct FormatErrorTests {
  @Test func `an error says place, cause and remedy`() {
    let error = FormatError(.newerFormat, at: 12, "the document has format 2, newer than 1")
    #expect(
      error.description
        == "byte 12: the document has format 2, newer than 1 (newerFormat); read it with the"
        + " version that wrote it, or a later one")
  }

  @Test func `codes are equal by name, and others can be added`() {
    let own = FormatError.Code("notJSON", remedy: "none")
    #expect(own == .notJSON)
    #expect(FormatError.Code("other", remedy: "none") != .notJSON)
  }
}
