import Testing

@testable import CommandLineTools

@Suite struct TextTests {
  @Test(
    arguments: [
      (Array("plain é 漢 🎈".utf8), "plain é 漢 🎈"),
      (Array("a\nb\tc\r".utf8), "a\\nb\\tc\\r"),
      (Array("\u{1B}[2J\u{7}\u{7F}\u{0}".utf8), "\\x1b[2J\\x07\\x7f\\x00"),
      (Array("\u{9B}2J".utf8), "\\u{9b}2J"),
      (Array("evil\u{202E}fdp".utf8), "evil\\u{202e}fdp"),
      (Array("back\\slash".utf8), "back\\\\slash"),
      ([0x61, 0xFF, 0x62, 0xC3], "a\\xffb\\xc3"),
      ([0xE2, 0x82, 0x41], "\\xe2\\x82A"),
      ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"),
      ([], ""),
    ] as [([UInt8], String)])
  func `bytes are shown without steering the terminal`(bytes: [UInt8], shown: String) {
    #expect(terminalSafe(bytes) == shown)
  }

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

  @Test func `json is written in one line or several`() {
    let value = JSONText.object([
      ("a", .array([1, "x\"\\\n\u{1}\u{9B}é", nil, true])), ("empty", .object([])),
      ("list", .array([])),
      ("big", .count(UInt64.max)), ("half", .number(0.5)), ("nan", .number(.nan)),
    ])
    #expect(
      value.line == #"{"a":[1,"x\"\\\n\u0001\u009bé",null,true],"empty":{},"list":[],"#
        + #""big":9223372036854775807,"half":0.5,"nan":null}"#)
    let pretty = """
      {
        "a": [
          1,
          {
            "b": 2
          }
        ],
        "c": []
      }
      """
    let nested = JSONText.object([
      ("a", .array([1, .object([("b", 2)])])), ("c", .array([])),
    ])
    #expect(nested.pretty == pretty)
  }

  @Test(
    arguments: [
      (Progress(done: 0, total: nil, bytes: 0, seconds: 0), "0  0 B"),
      (Progress(done: 3, total: nil, bytes: 3072, seconds: 2), "3  3.0 KiB  1.5 KiB/s"),
      (
        Progress(done: 5, total: 10, bytes: 2048, seconds: 5),
        "[===========>           ]   50%  5/10  2.0 KiB  409 B/s  0:05 left"
      ),
      (
        Progress(done: 10, total: 10, bytes: 0, seconds: 5),
        "[==============================]  100%  10/10  0 B  0 B/s"
      ),
      (
        Progress(done: 9, total: 10, bytes: 1024, totalBytes: 4096, seconds: 5),
        "[=====>                 ]   25%  9/10  1.0 KiB  204 B/s  0:15 left"
      ),
      (
        Progress(
          done: 0, total: 1, bytes: 3072, bytesBefore: 2048, totalBytes: 4096, seconds: 4),
        "[==================>     ]   75%  0/1  3.0 KiB  256 B/s  0:04 left"
      ),
      (
        Progress(
          done: 0, total: 1, bytes: 2048, bytesBefore: 2048, totalBytes: 4096, seconds: 4),
        "[===============>              ]   50%  0/1  2.0 KiB  0 B/s"
      ),
      (
        Progress(done: 5, total: 10, bytes: 0, totalBytes: 0, seconds: 2),
        "[===============>              ]   50%  5/10  2/s  0:02 left"
      ),
    ])
  func `progress is one line`(progress: Progress, line: String) {
    #expect(progress.line(width: 66) == line)
  }

  @Test(arguments: 1...100)
  func `progress never exceeds the width`(width: Int) {
    let progress = Progress(done: 12_345, total: 99_999, bytes: 1 << 40, seconds: 1000)
    #expect(progress.line(width: width).count <= width)
  }

  @Test(
    arguments: [(0, "0:00"), (4.2, "0:05"), (65, "1:05"), (3725, "1:02:05"), (1e9, "99:59:59")]
      as [(Double, String)])
  func `seconds are written as a clock does`(seconds: Double, text: String) {
    #expect(clockTime(seconds) == text)
  }
}
