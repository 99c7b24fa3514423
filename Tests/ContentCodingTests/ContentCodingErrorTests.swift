import ContentCoding
import Testing

struct ContentCodingErrorTests {
  @Test func `each error names the coding, and leaves the remedy to others`() {
    let errors: [ContentCodingError] = [
      .damaged(coding: "gzip"), .truncated(coding: "gzip"), .outOfMemory,
    ]
    let texts = errors.map(\.description)
    #expect(Set(texts).count == 3)
    for text in texts { #expect(!text.contains(";") && text.last != ".", "\(text)") }
    #expect(texts[0].contains("gzip") && texts[1].contains("gzip"))
  }
}
