import CacheSystem
import Testing

@Suite struct BootNameTests {
  @Test func `a machine that is running has one name, which has a UUID's length`() throws {
    let name = try #require(BootName.current)
    #expect(name == BootName.current)
    let text = String(decoding: name, as: UTF8.self).split(separator: "\n")
    #expect(text.count == 1 && text[0].utf8.count == 36 && !name.contains(0))
    #expect(text[0].split(separator: "-").map(\.utf8.count) == [8, 4, 4, 4, 12])
  }
}
