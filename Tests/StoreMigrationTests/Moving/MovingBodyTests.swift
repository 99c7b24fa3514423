import CacheFormat
import CacheStore
import Testing

@testable import StoreMigration

struct MovingBodyTests {
  private func skipped(_ failure: MoveFailure) -> SkipReason? {
    if case .skip(let reason, _) = failure { reason } else { nil }
  }

  @Test(
    arguments: [
      (.entryTooLarge, .entryTooLarge), (.metadataTooLarge, .metadataTooLarge),
      (.keyTooLong, .metadataTooLarge), (.leastRecent, .limitsReached), (.noSpace, nil),
      (.inputOutput, nil),
    ] as [(StoreError.Code, SkipReason?)])
  func `an error that the store has with one entry skips it, any other ends the migration`(
    code: StoreError.Code, expected: SkipReason?
  ) throws {
    let error = StoreError(code, path: "/s", cause: "c", remedy: "r")
    let failure = MoveFailure(error)
    #expect(skipped(failure) == expected)
    if expected == nil {
      guard case .stop(.destination(error)) = failure else {
        Issue.record("\(failure)")
        return
      }
    }
  }

  @Test func `a file that cannot be read skips its entry, a database ends the migration`() {
    let error = SourceError(.unreadable, "/p", "d")
    #expect(skipped(MoveFailure(error, isFile: true)) == .unreadableBody)
    guard case .stop(.source(error)) = MoveFailure(error, isFile: false) else {
      Issue.record("it does not end")
      return
    }
  }
}
