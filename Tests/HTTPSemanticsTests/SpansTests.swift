import Testing

@testable import HTTPSemantics

@Suite struct SpansTests {
  @Test(arguments: [[], [0], [1, 2, 3], [UInt8](repeating: 7, count: 1000)] as [[UInt8]])
  func `the span of an array has its bytes`(bytes: [UInt8]) {
    #expect(bytes.withSpan(copied) == bytes)
  }

  @Test(arguments: ["", "short", "Grüße, 世界", String(repeating: "long ", count: 100)])
  func `the span of a text has its UTF-8`(text: String) {
    #expect(text.withUTF8Span(copied) == Array(text.utf8))
    #expect(String(text.dropFirst()).withUTF8Span(copied) == Array(text.dropFirst().utf8))
  }

  private func copied(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }
}
