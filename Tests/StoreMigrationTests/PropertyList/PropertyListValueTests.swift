import Testing

@testable import StoreMigration

struct PropertyListValueTests {
  @Test func `a value is asked for as what it is`() {
    let values: [PropertyListValue] = [
      .null, .bool(true), .integer(1), .real(1.5), .data([1]), .string("a"), .array([]), .pairs(),
    ]
    #expect(
      values.map { $0.string != nil } == [false, false, false, false, false, true, false, false])
    #expect(values.map { $0.integer } == [nil, nil, 1, nil, nil, nil, nil, nil])
    #expect(values.map { $0.number } == [nil, nil, 1, 1.5, nil, nil, nil, nil])
    #expect(values.map { $0.pairs != nil }.last == true && values.count { $0.pairs != nil } == 1)
  }

  @Test func `a number that does not fit, and one that is none, are not asked for in vain`() {
    #expect(PropertyListValue.integer(Int128(Int.max)).integer == .max)
    #expect(PropertyListValue.integer(Int128(Int.max) + 1).integer == nil)
    #expect(PropertyListValue.integer(Int128(Int.min) - 1).integer == nil)
    #expect(PropertyListValue.real(.nan).number == nil)
    #expect(PropertyListValue.integer(1 << 70).number == 1_180_591_620_717_411_303_424)
  }

  @Test func `of two equal keys the first counts`() {
    let value = PropertyListValue.pairs(("a", .integer(1)), ("a", .integer(2)))
    #expect(value["a"] == .integer(1) && value["b"] == nil)
    #expect(PropertyListValue.array([])["a"] == nil)
  }

  @Test func `a budget is spent up to its end, and not beyond`() throws {
    var budget = PropertyListBudget()
    try budget.spend(objects: budget.objects)
    try budget.spend(bytes: budget.bytes)
    #expect(budget.objects == 0 && budget.bytes == 0)
    try budget.spend(objects: 0)
    #expect(throws: PropertyListError(.tooMuch)) { try budget.spend(objects: 1) }
    #expect(throws: PropertyListError(.tooMuch)) { try budget.spend(bytes: 1) }
    var fresh = PropertyListBudget()
    #expect(throws: PropertyListError(.tooMuch)) { try fresh.spend(bytes: .max) }
    #expect(fresh.bytes == PropertyListBudget.maximumBytes)
  }
}
