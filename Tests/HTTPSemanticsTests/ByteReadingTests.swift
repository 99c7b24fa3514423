import Testing

@testable import HTTPSemantics

struct ByteReadingTests {
  private struct Reader: ByteReading {
    let bytes: [UInt8]
    var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }
  }

  @Test func `a byte is consumed once, and only if it is the one that is wanted`() {
    var reader = Reader("ab")
    #expect(reader.peek == UInt8(ascii: "a"))
    let wrong = reader.take("b")
    #expect(!wrong && reader.position == 0)
    let right = reader.take("a")
    let last = reader.next()
    #expect(right && last == UInt8(ascii: "b"))
    #expect(reader.position == 2)
  }

  @Test func `nothing is read behind the end`() {
    var reader = Reader("aaa")
    let text = reader.text { $0 == UInt8(ascii: "a") }
    #expect(text == "aaa" && reader.peek == nil)
    let (next, taken) = (reader.next(), reader.take("a"))
    #expect(next == nil && !taken)
    reader.skip { _ in true }
    let rest = reader.text { _ in true }
    #expect(rest == "" && reader.position == 3)
  }

  @Test func `text may be empty, and ends before the first other byte`() {
    var reader = Reader("12 34")
    let letters = reader.text(while: ASCII.isLetter)
    let first = reader.text(while: ASCII.isDigit)
    reader.skip { $0 == 0x20 }
    let second = reader.text(while: ASCII.isDigit)
    #expect([letters, first, second] == ["", "12", "34"])
  }
}
