import CacheFormat
import Foundation
import TestSupport
import Testing

@testable import StoreMigration

struct PropertyListValueJSONTests {
  @Test(
    arguments: [
      (.null, "null"), (.bool(false), "false"), (.integer(-5), "-5"),
      (.integer(18_446_744_073_709_551_615), "18446744073709551615"), (.real(1.5), "1.5"),
      (.real(.nan), "null"), (.real(.infinity), "null"), (.string("a\"\n"), "\"a\\\"\\n\""),
      (.data([1, 2, 3]), "{\"$data\":\"AQID\"}"),
      (
        .date(Timestamp(nanoseconds: 1_500_000_000)),
        "{\"$date\":\"1970-01-01T00:00:01.500Z\"}"
      ),
      (.array([]), "[]"), (.array([.null, .integer(1)]), "[null,1]"), (.dictionary([]), "{}"),
    ] as [(PropertyListValue, String)])
  func `each type has its form`(value: PropertyListValue, json: String) {
    #expect(value.json == json)
  }

  @Test func `equal names get numbers, and none is used twice`() {
    let value = PropertyListValue.pairs(
      ("a (2)", .integer(1)), ("a", .integer(2)), ("a", .integer(3)), ("a", .integer(4)))
    #expect(value.json == "{\"a (2)\":1,\"a\":2,\"a (3)\":3,\"a (4)\":4}")
  }

  @Test func `a key that is no text is a name`() {
    let keys: [PropertyListValue] = [
      .integer(1), .null, .array([.null]), .pairs(("a", .null)), .string("1"),
    ]
    let value = PropertyListValue.dictionary(
      keys.map { PropertyListPair(key: $0, value: .bool(true)) })
    #expect(value.json == "{\"1\":true,\"null\":true,\"[]\":true,\"{}\":true,\"1 (2)\":true}")
  }

  @Test func `keys within keys do not grow the text without bounds`() {
    var key = PropertyListValue.string("\"\\")
    for _ in 0..<30 {
      key = .dictionary([PropertyListPair(key: key, value: .dictionary([]))])
    }
    #expect(key.json.utf8.count < 100)
    var nested = PropertyListValue.string("\"")
    for _ in 0..<30 { nested = .array([nested]) }
    #expect(nested.json.utf8.count < 100)
  }

  @Test(arguments: [UInt64(1), 2])
  func `any text is JSON that Foundation reads back`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let characters = Array("a\"\\/\u{0}\u{1F}\u{7F}\u{2028}ä😀\u{200B}")
    for _ in 0..<1_000 {
      let text = String(
        (0..<random.below(10)).map { _ in characters[random.below(characters.count)] })
      let value = PropertyListValue.pairs((text, .string(text)))
      let read = try JSONSerialization.jsonObject(with: Data(value.json.utf8)) as? [String: String]
      #expect(read == [text: text], "\(value.json)")
    }
  }
}
