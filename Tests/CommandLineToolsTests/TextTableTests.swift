import Testing

@testable import CommandLineTools

@Suite struct TextTableTests {
  @Test func `a table aligns its columns and leaves no spaces at the end`() {
    var table = TextTable([("name", .left), ("size", .right), ("note", .left)])
    table.add(["a", "10", "x"])
    table.add(["漢字b", "5", ""])
    #expect(table.lines == ["name   size  note", "a        10  x", "漢字b     5"])
  }

  @Test func `a table without headings begins with its first row`() {
    var table = TextTable([("", .left), ("", .left)])
    table.add(["key", "value"])
    table.add(["length", "5"])
    #expect(table.lines == ["key     value", "length  5"])
  }
}
