import Testing

@testable import StoreMigration

struct DatabaseErrorTests {
  @Test(
    arguments: [
      (1, .missingColumns), (17, .missingColumns), (3, .permission), (5, .busy), (6, .busy),
      (8, .unfinished), (9, .cancelled), (10, .unreadable), (11, .corrupt), (13, .copy),
      (14, .permission), (15, .busy), (18, .unreadable), (23, .permission), (26, .notADatabase),
      (7, .unreadable),
    ] as [(Int32, SourceError.Cause)])
  func `each code of SQLite has its cause`(code: Int32, cause: SourceError.Cause) {
    let error = DatabaseError(code: code, message: "")
    #expect(error.cause == cause)
    #expect(error.isTooLarge == (code == 18))
  }

  @Test func `what a check of the pages finds is damage, in one short line`() {
    let error = DatabaseError.damage(
      "*** in database main ***\nPage 7: " + String(repeating: "x", count: 99))
    #expect(error.cause == .corrupt && error.message.utf8.count == 60)
    #expect(!error.message.contains("\n"))
  }
}
