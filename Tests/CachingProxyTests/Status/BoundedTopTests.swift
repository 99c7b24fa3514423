import Testing

@testable import CachingProxy

@Suite struct BoundedTopTests {
  @Test func `The highest ranks are kept, in order`() {
    var top = BoundedTop<Int, String>(capacity: 3)
    for rank in [5, 1, 9, 5, 7, 0, 7] { top.offer(rank, "\(rank)") }
    #expect(top.elements == ["9", "7", "7"])
  }

  @Test func `Of equal ranks the first stays, and none is made in vain`() {
    var top = BoundedTop<Int, Int>(capacity: 2)
    var made = 0
    for number in 0..<10 {
      top.offer(
        1,
        {
          made += 1
          return number
        }())
    }
    #expect(top.elements == [0, 1])
    #expect(made == 2)
  }
}
