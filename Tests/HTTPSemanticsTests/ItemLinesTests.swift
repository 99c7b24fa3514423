import HTTPSemantics
import Testing

@Suite struct ItemLinesTests {
  @Test func `blanks, comments and the mark of an editor are left out of a list`() throws {
    let text = "\u{FEFF}a\n\n \t# b\n#\n  c # d \t\r\n\r\ne\n"
    let items = try ItemLines.items(in: Array(text.utf8))
    #expect(items.map(\.number) == [1, 5, 7])
    #expect(items.map(\.text) == ["a", "c # d", "e"])
  }

  @Test func `a line that is not UTF-8 is named`() {
    let error = #expect(throws: ItemLines.NotUTF8.self) {
      try ItemLines.items(in: Array("a\n\n# ".utf8) + [0xFF, 10])
    }
    #expect(error?.line == 3)
  }
}
