import StoreMigration
import Testing

@Suite struct RowReasonTests {
  @Test func `each reason says in a sentence what it means, under a name of its own`() {
    for reason in RowReason.all {
      #expect(reason.meaning.hasSuffix("."))
      #expect(reason.name.allSatisfy { $0.isLowercase || $0 == "_" })
      #expect(RowReason(named: reason.name) == reason)
    }
    #expect(Set(RowReason.all).count == RowReason.all.count)
    #expect(RowReason(named: "") == nil)
  }
}
