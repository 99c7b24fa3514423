import Testing

@testable import CommandLineTools

@Suite struct JSONTextTests {
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
}
