import Testing

@testable import StoreMigration

struct DatabaseValueTests {
  private static let values: [(DatabaseValue, String?, [UInt8]?, Int64?, Double?)] = [
    (.null, nil, nil, nil, nil), (.integer(-7), nil, nil, -7, -7),
    (.integer(.max), nil, nil, .max, 9_223_372_036_854_775_808), (.real(1.5), nil, nil, nil, 1.5),
    (.real(7), nil, nil, nil, 7), (.real(.infinity), nil, nil, nil, .infinity),
    (.text([0x37]), "7", [0x37], nil, nil), (.text([]), "", [], nil, nil),
    (.text([0x61, 0, 0xff]), "a\0\u{fffd}", [0x61, 0, 0xff], nil, nil),
    (.blob([0x37]), nil, [0x37], nil, nil),
  ]

  @Test func `a value is what its type says, and is not converted`() {
    for (value, string, bytes, integer, number) in Self.values {
      #expect(value.string == string && value.bytes == bytes, "\(value)")
      #expect(value.integer == integer && value.number == number, "\(value)")
    }
  }
}
