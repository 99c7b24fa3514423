import Testing

@testable import RemoteTier

struct AbsentNamesTests {
  private func name(_ number: Int) -> ObjectName {
    ObjectName(kind: .document, digits: "\(number)")
  }

  @Test func `a name is absent for 5 seconds, then for twice as long, up to a minute`() {
    let names = AbsentNames()
    var now: Int64 = 1_000
    for seconds in [5, 10, 20, 40, 60, 60] as [Int64] {
      #expect(!names.contains(name(1), at: now))
      names.note(name(1), at: now)
      let end = now + seconds * 1_000_000_000
      #expect(names.contains(name(1), at: now) && names.contains(name(1), at: end - 1))
      #expect(!names.contains(name(1), at: end) && !names.contains(name(2), at: now))
      now = end
    }
  }

  @Test func `a name that was written is there at once, and its next absence is short`() {
    let names = AbsentNames()
    for _ in 0..<3 { names.note(name(1), at: 0) }
    names.forget(name(1))
    #expect(!names.contains(name(1), at: 1))
    names.note(name(1), at: 0)
    #expect(!names.contains(name(1), at: AbsentNames.shortest))
  }

  @Test func `a body and a document of one digest are two names`() {
    let names = AbsentNames()
    names.note(ObjectName(kind: .body, digits: "1"), at: 0)
    #expect(!names.contains(name(1), at: 0))
  }

  @Test func `when there are too many, all are forgotten`() {
    let names = AbsentNames()
    for number in 0..<AbsentNames.maximumCount { names.note(name(number), at: 0) }
    names.note(name(0), at: 0)
    #expect(names.contains(name(AbsentNames.maximumCount - 1), at: 0), "a known one is no new one")
    names.note(name(AbsentNames.maximumCount), at: 0)
    #expect(names.contains(name(AbsentNames.maximumCount), at: 0))
    #expect(!names.contains(name(0), at: 0) && !names.contains(name(17), at: 0))
  }
}
