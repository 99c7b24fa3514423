import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct FingerprintKeyTests {
  private let secret = Array("Basic c2VjcmV0".utf8)

  @Test func `what is stored for a credential is found with the same key alone`() throws {
    let sandbox = try CacheSandbox()
    let asked = request("/a", [HTTPField("Authorization", "Bearer 123456")])
    try sandbox.load(asked, head(200, [HTTPField("Cache-Control", "max-age=60")]), content(10))
    #expect(try sandbox.served(asked) != nil)
    let otherKey = FingerprintKey(bytes: FingerprintKey.randomBytes())
    let other = ResponseCache(store: sandbox.store, fingerprintKey: otherKey)
    guard case .forward(let forwarding) = other.decide(asked, now: moment(0)) else {
      throw Unexpected()
    }
    #expect(forwarding.reason == .otherVariant)
    let selecting = try #require(
      sandbox.store.variants(of: "GET http://example.com/a").first?.userInfo
        .first { $0.name == "http-selecting" })
    // The name, a colon, and 32 bytes in hexadecimal digits.
    #expect(selecting.value.count == 14 + 64)
  }

  @Test func `equal secrets do not show in two stores`() throws {
    let shown = try (0..<2).map { _ in
      let sandbox = try CacheSandbox()
      return sandbox.cache.conceal(secret)
    }
    #expect(shown[0] != shown[1])
  }
}
