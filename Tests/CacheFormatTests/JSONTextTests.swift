import Foundation
import Testing

@testable import CacheFormat

@Suite struct JSONTextTests {
  @Test func `json is written in one line or several`() {
    let value = JSONText.object([
      ("a", .array([1, "x\"\\\n\u{1}\u{9B}é", .null, .bool(true)])), ("empty", .object([])),
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

  @Test func `what is missing or not finite is null`() {
    let values: [JSONText] = [
      .text(nil), .count(nil as Int?), .number(.infinity), .number(-.infinity),
    ]
    #expect(JSONText.array(values).line == "[null,null,null,null]")
  }

  @Test(
    arguments: [
      "\"", "\\", "\u{0}", "\n\r\t", "\u{1F}\u{7F}", "</script>", "\u{2028}\u{202E}\u{FEFF}",
      "a,", "\u{1F388}", String(repeating: "\\\"", count: 1000),
    ])
  func `text comes back as it was`(text: String) throws {
    let written = JSONText.object([("t", .string(text))]).line
    let read = try JSONSerialization.jsonObject(with: Data(written.utf8)) as? [String: String]
    // By scalars: strings that look alike are not the same here.
    #expect(read?["t"].map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
    #expect(written.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
  }
}
