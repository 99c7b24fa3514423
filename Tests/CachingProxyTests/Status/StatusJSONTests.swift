import Foundation
import Testing

@testable import CachingProxy

@Suite struct StatusJSONTests {
  @Test func `Members keep their order, and commas stand between them alone`() {
    let text = StatusJSON.object { json in
      json.member("none", nil as String?)
      json.member("text", "a")
      json.member("number", 3)
      json.member("missing", nil as UInt64?)
      json.member("part", 0.25)
      json.member("truth", true)
      json.member("empty") { _ in }
      json.member("absent", nil as ((inout StatusJSON) -> Void)?)
      json.member("list", each: [1, 2]) { number, json in json.member("n", number) }
      json.member("nothing", each: [Int]()) { _, _ in }
    }
    #expect(
      text
        == """
        {"none":null,"text":"a","number":3,"missing":null,"part":0.25,"truth":true,"empty":{},\
        "absent":null,"list":[{"n":1},{"n":2}],"nothing":[]}
        """)
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity])
  func `JSON has no word for what is not finite`(number: Double) {
    #expect(StatusJSON.object { $0.member("n", number) } == "{\"n\":null}")
  }

  @Test(
    arguments: [
      "\"", "\\", "\u{0}", "\n\r\t", "\u{1F}\u{7F}", "</script>", "\u{2028}\u{202E}\u{FEFF}",
      "a,", "\u{1F388}", String(repeating: "\\\"", count: 1000),
    ])
  func `Text comes back as it was`(text: String) throws {
    let written = StatusJSON.object { $0.member("t", text) }
    let read = try JSONSerialization.jsonObject(with: Data(written.utf8)) as? [String: String]
    // By scalars: strings that look alike are not the same here.
    #expect(read?["t"].map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
    #expect(written.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
  }
}
