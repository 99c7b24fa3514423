import CacheFormat
import TestSupport
import Testing

@testable import RemoteTier

struct PurgeListTests {
  @Test("a purge covers documents with a lower number only")
  func covers() {
    var list = PurgeList()
    list.add(.key("k"), number: 2)
    list.add(.prefix("GET http://a/"), number: 3)
    list.add(.tag("t"), number: 5)
    #expect(list.covers("k", tags: [], generation: 1))
    #expect(!list.covers("k", tags: [], generation: 2))
    #expect(list.covers("GET http://a/x", tags: [], generation: 2))
    #expect(!list.covers("GET http://b/x", tags: [], generation: 0))
    #expect(!list.covers("GET http://a/x", tags: [], generation: 3))
    #expect(list.covers("z", tags: ["s", "t"], generation: 4))
    list.add(.everything, number: 6)
    #expect(list.covers("z", tags: [], generation: 5))
    #expect(list.numbers == [.everything: 6])
    #expect(list.newest == 6)
  }

  @Test("the order in which lists are joined does not matter, and they can be read again")
  func union() throws {
    for seed in 0..<50 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      var lists = (0..<4).map { _ in
        var list = PurgeList()
        for _ in 0..<random.below(20) {
          let text = ByteString("\(random.below(5))")
          let scope: PurgeList.Scope = [
            .key(text), .prefix(text), .tag(text), .everything,
          ][random.below(4)]
          list.add(scope, number: UInt64(1 + random.below(30)))
        }
        return list
      }
      let one = lists.reduce(PurgeList()) { $0.union($1) }
      lists.shuffle(using: &random)
      #expect(lists.reduce(PurgeList()) { $0.union($1) } == one)
      #expect(lists[0].joined(with: lists[1]) == lists[1].joined(with: lists[0]))
      #expect(try PurgeList(decoding: one.encoded(namespace: "n"), namespace: "n") == one)
    }
  }

  @Test("a purge that was overwritten gets a new number when its list comes back")
  func joined() {
    func list(_ purges: (PurgeList.Scope, UInt64)...) -> PurgeList {
      purges.reduce(into: PurgeList()) { $0.add($1.0, number: $1.1) }
    }
    let old = list((.key("a"), 5))
    #expect(old.joined(with: PurgeList()) == old)
    #expect(old.joined(with: list((.key("a"), 5), (.tag("b"), 6))).number(of: .tag("b")) == 6)
    for other in [5, 7] as [UInt64] {
      let joined = old.joined(with: list((.key("b"), other)))
      #expect(joined.number(of: .key("a")) > other)
      #expect(joined.number(of: .key("b")) > 5)
      #expect(joined.joined(with: old) == joined)
    }
    let longer = list((.key("a"), 5), (.key("c"), 6))
    #expect(longer.joined(with: list((.key("b"), 5))).number(of: .key("b")) > 6)
    #expect(old.joined(with: list((.everything, 5))).number(of: .everything) == 6)
    #expect(old.joined(with: list((.everything, 4), (.tag("b"), 6))).number(of: .everything) > 6)
  }

  @Test("more than 10,000 purges, and more than 1 MiB of them, become one of everything")
  func bounded() throws {
    var many = PurgeList()
    for number in 1...10_001 as ClosedRange<UInt64> { many.add(.key("\(number)"), number: number) }
    let merged = many.bounded()
    #expect(merged.numbers.count <= 5_001)
    #expect(merged.newest == 10_001)
    #expect(merged.covers("1", tags: [], generation: 0))
    #expect(!merged.covers("1", tags: [], generation: 10_000))
    #expect(merged.union(many).bounded() == merged)
    #expect(merged.joined(with: many) == merged)
    #expect(many.joined(with: merged) == merged)
    var long = PurgeList()
    for number in 1...40 as ClosedRange<UInt64> {
      long.add(
        .prefix(ByteString(bytes: [UInt8(number)] + Array(repeating: 65, count: 65_000))),
        number: number)
    }
    #expect(long.bounded().encoded(namespace: "n").count < SharedDocument.maximumBytes / 2)
    #expect(long.bounded().newest == 40 && long.bounded().isBounded)
  }

  @Test("a list of texts that need escapes can be read again from its document")
  func escaped() throws {
    var list = PurgeList()
    for number in 1...40 as ClosedRange<UInt64> {
      let text = Array(repeating: 1 as UInt8, count: 25_000) + [UInt8(number)]
      list.add(.tag(ByteString(bytes: text)), number: number)
    }
    let bounded = list.bounded()
    #expect(bounded.numbers.keys.contains(.everything) && bounded.newest == 40)
    let document = SignedDocument.encode(
      bounded.encoded(namespace: "n"), bodies: [], secret: Machine.secret)
    let inner = try SignedDocument.decode(document, secret: Machine.secret)
    #expect(try PurgeList(decoding: inner, namespace: "n") == bounded)
  }

  @Test(
    "a list of another namespace, and purges with impossible numbers, are refused",
    arguments: [
      "{\"v\":1,\"namespace\":\"m\",\"purge\":[]}", "{\"v\":1,\"namespace\":\"n\"}",
      "{\"v\":1,\"namespace\":\"n\",\"purge\":[{\"number\":0}]}",
      "{\"v\":1,\"namespace\":\"n\",\"purge\":[{\"number\":18446744073709551615}]}",
      "{\"v\":1,\"namespace\":\"n\",\"purge\":[{\"number\":1,\"other\":2}]}",
    ])
  func refused(text: String) {
    #expect(throws: FormatError.self) {
      try PurgeList(decoding: Array(text.utf8), namespace: "n")
    }
  }
}
