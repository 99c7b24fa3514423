import CommandLineTools
import Testing

@Suite struct StateTextTests {
  @Test(arguments: [[], ["a 1"], ["a 1", "", "end", "b ü"]]) func `lines come back`(
    _ lines: [String]
  ) {
    let bytes = StateText.encode("state 1", lines)
    #expect(StateText.decode("state 1", bytes) == lines.map { Substring($0) })
    #expect(StateText.decode("state 2", bytes) == nil)
  }

  @Test func `a file that was cut off anywhere is damaged`() {
    let bytes = StateText.encode("state 1", ["a 1", "end", "b 2"])
    for count in bytes.indices where count != "state 1\na 1\nend\n".utf8.count {
      #expect(StateText.decode("state 1", Array(bytes.prefix(count))) == nil, "\(count) bytes")
    }
    #expect(StateText.decode("state 1", bytes + [10]) == nil)
    #expect(StateText.decode("state 1", [0xff, 10] + bytes) == nil)
  }

  @Test func `a value follows the whole name`() {
    #expect(StateText.value("size 12 34", "size") == "12 34")
    #expect(StateText.value("size ", "size")?.isEmpty == true)
    #expect(StateText.value("size", "size") == nil)
    #expect(StateText.value("sizes 1", "size") == nil)
  }
}
