import HTTPSemantics
import Testing

@testable import CurlHTTP

/// Lines that come over a connection are also in AnswerTests and FailureTests of HTTPTransports.
struct FieldLinesTests {
  private func read(_ lines: String...) -> FieldLines {
    var read = FieldLines()
    for line in lines { read.append(Array(line.utf8)) }
    return read
  }

  @Test func `a folded line continues the one before it with one space`() {
    let lines = read("A: b", " \t c ", "\td", "E:", " f")
    #expect(lines.fields == [HTTPField("A", "b c d"), HTTPField("E", "f")])
    #expect(lines.oddNames == ["a", "e"])
    #expect(lines.count == 5)
  }

  @Test func `what would continue a skipped line or nothing is skipped, too`() {
    let lines = read(" a", "F: g", "B b: c", " d", "no colon", " e")
    #expect(lines.fields == [HTTPField("F", "g")])
    #expect(lines.oddNames.isEmpty)
    #expect(lines.count == 6)
  }

  @Test func `white space before the colon is left out and noted`() {
    let lines = read("Content-Length : 5", "A:b")
    #expect(lines.fields == [HTTPField("Content-Length", "5"), HTTPField("A", "b")])
    #expect(lines.oddNames == ["content-length"])
  }
}
