import RemoteTier
import Testing

struct RemoteCacheErrorTests {
  @Test func `errors are equal by code and part, whatever their texts are`() {
    let first = RemoteCacheError(.readOnly, "a", problem: "p", remedy: "r")
    let second = RemoteCacheError(.readOnly, "a", problem: "q", remedy: "s")
    #expect(first == second && first.hashValue == second.hashValue)
    #expect(first != RemoteCacheError(.readOnly, "b", problem: "p", remedy: "r"))
    #expect(first != RemoteCacheError(.purgeFailed, "a", problem: "p", remedy: "r"))
    #expect(first.description == "a: p; r")
  }
}
