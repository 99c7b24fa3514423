import CacheSystem
import Testing

@testable import StoreChecking

@Suite struct CheckErrorTests {
  @Test(
    arguments: [
      (.inputOutput, .inputOutput), (.readOnlyFileSystem, .permissionDenied),
      (.notFound, .inputOutput),
    ] as [(SystemError, CheckError.Code)])
  func `a failed call says what it means and what to do`(error: SystemError, code: CheckError.Code)
  {
    let made = CheckError(error, path: "/s")
    #expect(made.code == code && made.errno == error.code)
    #expect(made.description.hasPrefix("/s: ") && made.description.contains("; "))
    #expect(made.description.last != ".")
  }

  @Test func `a check that was cancelled says so`() {
    let error = CheckError.cancelled("/s")
    #expect(error.code == .cancelled && error.errno == 0)
    #expect(error.description == "/s: the check was cancelled; start it again")
  }
}
