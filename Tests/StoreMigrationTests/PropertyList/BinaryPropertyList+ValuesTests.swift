import CacheFormat
import TestSupport
import Testing

@testable import StoreMigration

struct BinaryPropertyListValuesTests {
  private func value(_ random: inout SplitMix64, depth: Int = 0) -> PropertyListValue {
    switch random.below(depth < 3 ? 10 : 8) {
    case 0: return .null
    case 1: return .bool(random.below(2) == 0)
    case 2: return .integer(Int128(Int64(bitPattern: random.next())))
    case 3: return .integer(Int128(random.next()))
    case 4: return .real(Double(random.below(1_000)) / 8)
    case 5: return .date(Timestamp(nanoseconds: Int64(random.below(2_000_000_000)) * 1_000_000_000))
    case 6: return .data(random.bytes(random.below(40)))
    case 7:
      return .string(String((0..<random.below(20)).map { _ in Array("ab ä€😀")[random.below(6)] }))
    case 8: return .array((0..<random.below(4)).map { _ in value(&random, depth: depth + 1) })
    default:
      return .dictionary(
        (0..<random.below(3)).map { number in
          PropertyListPair(key: .string("k\(number)"), value: value(&random, depth: depth + 1))
        })
    }
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `any value comes back from its bytes`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for round in 0..<500 {
      let expected = value(&random)
      let found = try PropertyListValue(binary: PropertyListBytes.list(expected))
      #expect(found == expected, "round \(round)")
    }
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `bytes that were changed are a value or an error`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var refused = 0
    for _ in 0..<500 {
      var bytes = PropertyListBytes.list(value(&random))
      for _ in 0...random.below(3) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      if (try? PropertyListValue(binary: bytes)) == nil { refused += 1 }
    }
    #expect(refused > 50 && refused < 500)
  }

  @Test func `a time is counted from 2001, and what is no number is no time`() {
    #expect(
      Timestamp(secondsSince2001: 0) == Timestamp(nanoseconds: 978_307_200 * 1_000_000_000))
    #expect(Timestamp(secondsSince2001: -978_307_200) == Timestamp(nanoseconds: 0))
    #expect(Timestamp(secondsSince2001: .nan) == nil)
    #expect(Timestamp(secondsSince2001: .infinity)! > Timestamp(secondsSince2001: 1e9)!)
    #expect(Timestamp(secondsSince2001: -.infinity)! < Timestamp(secondsSince2001: -1e9)!)
  }
}
