import TestSupport
import Testing

@testable import HTTPSemantics

struct PackedNameTests {
  @Test(arguments: [UInt64(1), 2])
  func `names are equal if they are equal in lower case`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let letters = Array("aAbB-\0@`\u{FF}".utf8)
    for _ in 0..<20_000 {
      let left = random.text(of: letters, upTo: PackedName.maximumLength)
      var right = left
      if !right.isEmpty, random.below(3) > 0 {
        right[random.below(right.count)] = letters[random.below(letters.count)]
      }
      let isEqual = left.map(ASCII.lowercased) == right.map(ASCII.lowercased)
      #expect((try #require(PackedName(left)) == #require(PackedName(right))) == isEqual)
    }
  }

  @Test func `each place of a name counts`() throws {
    let name = [UInt8](repeating: UInt8(ascii: "n"), count: PackedName.maximumLength)
    let packed = try #require(PackedName(name))
    for index in name.indices {
      var other = name
      other[index] = UInt8(ascii: "m")
      #expect(PackedName(other) != packed, "\(index)")
    }
    #expect(PackedName(name.dropLast()) != packed)
    #expect(PackedName([0]) != PackedName([]) && PackedName([0, 97]) != PackedName([97]))
  }

  @Test func `a name that is too long does not fit, and a part of a line does`() {
    let long = [UInt8](repeating: 97, count: PackedName.maximumLength + 1)
    #expect(PackedName(long) == nil)
    #expect(long.withSpan { PackedName($0, 0..<$0.count) } == nil)
    let line = Array("x, Max-Age=1".utf8)
    #expect(line.withSpan { PackedName($0, 3..<10) } == PackedName("max-age".utf8))
    #expect(line.withSpan { PackedName($0, 4..<4) }?.count == 0)
  }
}
