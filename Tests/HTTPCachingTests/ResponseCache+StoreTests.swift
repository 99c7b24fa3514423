import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheStoreTests {
  private func select(_ fields: (String, String?)...) -> Selection {
    Selection(
      fields: fields.map { SelectedField(name: $0.0, value: $0.1.map { Array($0.utf8) }) })
  }

  @Test func `only a whole response that every request selects is the variant 0`() throws {
    let part = try #require(ContentRange(Array("bytes 0-4/10".utf8)))
    #expect(ResponseCache.variant(.none, nil) == 0)
    let others = [
      ResponseCache.variant(.none, part), ResponseCache.variant(select(("a", nil)), nil),
      ResponseCache.variant(select(("a", "")), nil), ResponseCache.variant(select(("a", "b")), nil),
      ResponseCache.variant(select(("a", "b"), ("c", "d")), nil),
      ResponseCache.variant(select(("a", "b"), ("c", nil)), nil),
      ResponseCache.variant(select(("a", "b")), part),
      ResponseCache.variant(select(("a", "bc:d")), nil),
    ]
    #expect(Set(others).count == others.count && !others.contains(0))
    #expect(ResponseCache.variant(select(("c", "d"), ("a", "b")), nil) == others[4])
  }

  @Test func `parts with one beginning are one variant, whatever their ends are`() {
    let values = ["bytes 5-9/10", "bytes 5-7/10", "bytes 5-7/*", "bytes 6-9/10"]
    let numbers = values.map { ResponseCache.variant(.none, ContentRange(Array($0.utf8))) }
    #expect(!numbers.contains(0))
    #expect(numbers[0] == numbers[1] && numbers[1] == numbers[2] && numbers[2] != numbers[3])
  }

  @Test func `an answer to POST that is stored answers a GET, whatever the rule of the keys`()
    throws
  {
    let rule = KeyRule { "\($0.method.rawValue) \($0.url.string)" }
    let sandbox = try CacheSandbox(keyRule: rule)
    let fields = [
      HTTPField("Cache-Control", "max-age=100"), HTTPField("Content-Location", "/a"),
    ]
    try sandbox.load(request(method: "POST"), head(200, HTTPFields(fields)), content(10))
    #expect(try sandbox.served(request())?.body == content(10))
  }
}
