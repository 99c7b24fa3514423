import Testing

@testable import StoreMigration

struct PropertyListErrorTests {
  @Test func `the offset of the problem is told where it is known`() {
    #expect(PropertyListError(.tooDeep).description == "the objects nest too deep")
    #expect(PropertyListError(.badObject, at: 0).description == "an object is malformed (byte 0)")
    #expect(PropertyListError(.outside, at: 7) != PropertyListError(.outside))
  }
}
