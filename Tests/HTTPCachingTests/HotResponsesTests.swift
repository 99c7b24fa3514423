import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct HotResponsesTests {
  private func item(
    _ key: ByteString, bytes: Int = 10
  ) throws -> HotResponses.Item {
    let variant = try storedVariant(key, bytes: bytes)
    return HotResponses.Item(outline: [], variants: [variant])
  }

  @Test func `a response that was kept comes from memory`() throws {
    let hot = HotResponses(bytes: 1 << 20)
    hot.insert("a", try item("a"))
    guard case .bytes(_, .memory)? = hot.find("a")?.variants.first?.body else {
      Issue.record("not from memory")
      return
    }
    #expect(hot.find("b") == nil && hot.bytes > 10)
    hot.remove("a")
    #expect(hot.find("a") == nil)
  }

  @Test func `without memory nothing is kept, nor what takes more than an eighth`() throws {
    let none = HotResponses(bytes: 0)
    none.insert("a", try item("a"))
    #expect(none.find("a") == nil && none.bytes == 0)
    let hot = HotResponses(bytes: 800_000)
    hot.insert("a", try item("a", bytes: 100_000))
    #expect(hot.find("a") == nil)
    hot.insert("a", try item("a", bytes: 90_000))
    #expect(hot.find("a") != nil)
  }

  @Test func `what is used stays, what is not used goes, and the memory is bounded`() throws {
    let limit = 1 << 20
    let hot = HotResponses(bytes: limit)
    hot.insert("used", try item("used", bytes: 50_000))
    for number in 0..<100 {
      hot.insert(ByteString("k\(number)"), try item(ByteString("k\(number)"), bytes: 50_000))
      #expect(hot.find("used") != nil, "\(number)")
      #expect(hot.bytes <= limit + limit / 8, "\(number)")
    }
    #expect(hot.find("k0") == nil && hot.find("k99") != nil)
  }

  @Test func `an update is for the same response alone`() throws {
    let hot = HotResponses(bytes: 1 << 20)
    hot.insert("a", try item("a"))
    let other = try #require(try item("a", bytes: 11).variants.first)
    hot.update(other)
    #expect(hot.find("a")?.variants.first?.length == 10)
    let same = try #require(try item("a").variants.first).with(nil)
    hot.update(same)
    if hot.find("a")?.variants.first?.body != nil { Issue.record("it was not updated") }
    hot.update(try #require(try item("b").variants.first))
    #expect(hot.find("b") == nil)
  }

  @Test func `a long body has a reader for each request`() throws {
    let sandbox = try CacheSandbox(options: Options(settling: .atOnce), hotBytes: 1 << 20)
    let body = content(Int(ResponseCache.verifiedBytes) + 1)
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=9"), HTTPField("Vary", "Accept-Language"),
    ]
    try sandbox.load(asking("de"), head(200, fields), body)
    try sandbox.load(asking("en"), head(200, fields), [1])
    let readers = try (0..<2).map { _ in
      guard case .serve(let serving) = sandbox.decide(asking("de")),
        case .file(let reader)? = serving.slices.first?.body
      else { throw Unexpected() }
      return reader
    }
    #expect(readers[0] !== readers[1])
  }
}
