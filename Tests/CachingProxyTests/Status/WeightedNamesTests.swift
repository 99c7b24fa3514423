import Testing

@testable import CachingProxy

@Suite struct WeightedNamesTests {
  @Test func `Names are summed up, the heaviest first`() {
    var names = WeightedNames()
    names.add("b", bytes: 10)
    names.add("a", bytes: 5)
    names.add("a", bytes: 6)
    names.add("c", bytes: 10)
    #expect(
      names.heaviest(2) == [
        WeightedNames.Weight(name: "a", entries: 2, bytes: 11),
        WeightedNames.Weight(name: "b", entries: 1, bytes: 10),
      ])
  }

  @Test func `Too many names give up light ones, never heavy ones`() {
    var names = WeightedNames()
    for number in 0..<20_000 {
      names.add("n\(number)", bytes: 1)
      if number % 2000 == 0 { names.add("heavy", bytes: 1000) }
    }
    #expect(names.heaviest(1) == [.init(name: "heavy", entries: 10, bytes: 10_000)])
    #expect(names.heaviest(.max).count <= WeightedNames.maximumNames)
  }
}
