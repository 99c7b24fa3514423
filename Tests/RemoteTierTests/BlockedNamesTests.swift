import Testing

@testable import RemoteTier

struct BlockedNamesTests {
  private func name(_ number: Int) -> ObjectName {
    ObjectName(kind: .document, digits: String(number))
  }

  @Test func `a name is blocked until its last block is released`() {
    let names = BlockedNames()
    let first = names.insert(name(1))
    #expect(names.contains(name(1)) && !names.contains(name(2)))
    let second = names.insert(name(1))
    names.release(name(1), first)
    #expect(names.contains(name(1)))
    names.release(name(1), second)
    #expect(!names.contains(name(1)))
  }

  @Test func `beyond the limit all names are blocked for good`() {
    let names = BlockedNames()
    let tokens = (0..<BlockedNames.maximumCount).map { names.insert(name($0)) }
    #expect(!names.contains(name(-1)))
    let last = names.insert(name(-1))
    names.release(name(-1), last)
    names.release(name(0), tokens[0])
    #expect([-2, -1, 0].allSatisfy { names.contains(name($0)) })
  }
}
