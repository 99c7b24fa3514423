import TestSupport
import Testing

@testable import StoreMigration

struct SkipReasonTests {
  @Test func `an excerpt is short and one line, whatever the text is`() {
    #expect(RowError.excerpt("a\r\n\u{1B}[31mb\u{7F}\0") == "a???[31mb??")
    #expect(RowError.excerpt(String(repeating: "x", count: 100)).utf8.count == 60)
    // A character that the limit cuts is replaced.
    let long = RowError.excerpt(String(repeating: "x", count: 59) + "é")
    #expect(long == String(repeating: "x", count: 59) + "\u{FFFD}")
    var random = SplitMix64(seed: 1)
    for _ in 0..<500 {
      let text = String(decoding: random.bytes(random.below(200)), as: UTF8.self)
      #expect(
        !RowError.excerpt(text).unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
    }
  }
}
