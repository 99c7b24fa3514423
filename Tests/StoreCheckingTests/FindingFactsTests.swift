import StoreChecking
import Testing

@Suite struct FindingFactsTests {
  @Test("each kind says in sentences what it means and what repair does")
  func sentences() {
    for kind in FindingKind.allCases {
      #expect(kind.facts.meaning.hasSuffix("."), "\(kind)")
      #expect(kind.facts.remedy.hasSuffix("."), "\(kind)")
      #expect(kind.rawValue.allSatisfy { $0.isLowercase || $0 == "-" }, "\(kind)")
    }
  }
}
