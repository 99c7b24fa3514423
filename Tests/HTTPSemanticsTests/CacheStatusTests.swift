import HTTPSemantics
import TestSupport
import Testing

struct CacheStatusTests {
  @Test func `a hit tells how long it stays fresh`() {
    var status = CacheStatus(cacheName: "OfflineCache", isHit: true)
    #expect(status.description == "OfflineCache; hit")
    status.ttl = 376
    #expect(status.description == "OfflineCache; hit; ttl=376")
    status.ttl = -412
    #expect(status.description == "OfflineCache; hit; ttl=-412")
  }

  @Test func `a miss tells why and what came of it`() {
    var status = CacheStatus(cacheName: "OfflineCache", forward: .uriMiss)
    #expect(status.description == "OfflineCache; fwd=uri-miss")
    status.forwardStatus = 304
    status.isStored = true
    status.isCollapsed = true
    status.key = "http://h/\"a\\b\""
    status.detail = "grüßt\n"
    #expect(
      status.description
        == #"OfflineCache; fwd=uri-miss; fwd-status=304; stored; collapsed"#
        + #"; key="http://h/\"a\\b\""; detail="gr??t?""#)
  }

  @Test func `a hit never tells of a way forward (RFC 9211, section 2.1)`() {
    var status = CacheStatus(cacheName: "c", isHit: true, forward: .stale)
    status.forwardStatus = 304
    status.isStored = true
    status.isCollapsed = true
    #expect(status.description == "c; hit")
  }

  @Test(arguments: [
    ("cache.example:80/x", "cache.example:80/x"), ("*", "*"), ("1cache", "\"1cache\""),
    ("my cache", "\"my cache\""), ("", "\"\""), ("a;b", "\"a;b\""), ("a\r\nX: y", "\"a??X: y\""),
  ])
  func `a name that is no token is quoted`(name: String, expected: String) {
    // A carriage return and a line feed are one Character, but two scalars.
    #expect(CacheStatus(cacheName: name).description == expected)
  }

  @Test func `numbers have at most 15 digits and texts 1024 bytes`() {
    var status = CacheStatus(cacheName: "c", isHit: true)
    status.ttl = .max
    #expect(status.description == "c; hit; ttl=999999999999999")
    status.ttl = .min
    #expect(status.description == "c; hit; ttl=-999999999999999")
    status.ttl = nil
    status.key = String(repeating: "k", count: 1024)
    #expect(status.description.utf8.count == 1024 + #"c; hit; key="""#.utf8.count)
    status.key = String(repeating: "k", count: 1025)
    status.detail = status.key
    #expect(status.description == "c; hit")
  }

  @Test(arguments: CacheStatus.Forward.allCases)
  func `every reason is a token`(reason: CacheStatus.Forward) throws {
    let status = CacheStatus(cacheName: "c", forward: reason)
    #expect(try StructuredItem(status.description).parameters["fwd"] == .token(reason.rawValue))
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `any status is an item with parameters`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let letters = Array("aZ*0 \"\\;=,:/\u{0}\r\n\u{7f}é".utf8)
    for _ in 0..<200 {
      let text = { (random: inout SplitMix64) in
        String(decoding: random.text(of: letters, upTo: 12), as: UTF8.self)
      }
      var status = CacheStatus(
        cacheName: text(&random), isHit: Bool.random(using: &random),
        forward: CacheStatus.Forward.allCases.randomElement(using: &random))
      status.forwardStatus = Int.random(in: .min...(.max), using: &random)
      status.isStored = Bool.random(using: &random)
      status.isCollapsed = Bool.random(using: &random)
      status.ttl = Int64.random(in: .min...(.max), using: &random)
      status.key = Bool.random(using: &random) ? text(&random) : nil
      status.detail = Bool.random(using: &random) ? text(&random) : nil
      let item = try StructuredItem(status.description)
      let parameters = item.parameters
      #expect((parameters["hit"] == .boolean) == status.isHit, "seed \(seed): \(status)")
      #expect((parameters["fwd"] == nil) == status.isHit, "seed \(seed): \(status)")
      #expect((parameters["key"] == nil) == (status.key == nil), "seed \(seed): \(status)")
      #expect((parameters["detail"] == nil) == (status.detail == nil), "seed \(seed): \(status)")
      #expect(parameters["ttl"] != nil, "seed \(seed): \(status)")
    }
  }
}
