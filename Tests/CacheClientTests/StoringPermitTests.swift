import CacheFormat
import CacheSystem
import ClientTesting
import TestSupport
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct StoringPermitTests {
  private let key = ByteString("k")

  @Test func `whoever takes permits back waits for what is being stored with one`() async {
    let permits = StoringPermits()
    let permit = permits.make(key)
    #expect(permit.beginStoring())
    let isRevoked = Promise<Bool>()
    let revoking = Task {
      await permits.revokeAndWait(key)
      isRevoked.settle(true)
    }
    await eventually { !permit.isValid }
    #expect(isRevoked.valueNow == nil)
    // Nothing begins any more with a permit that was taken back.
    #expect(!permit.beginStoring())
    permit.endStoring()
    await revoking.value
    #expect(isRevoked.valueNow == true)
    let next = permits.make(key)
    #expect(next.beginStoring())
    next.endStoring()
    await permits.revokeAndWait(key)
    #expect(!next.isValid)
  }

  @Test func `a permit that takes the others back is valid itself`() {
    let permits = StoringPermits()
    let old = permits.make(key)
    let new = permits.make(key, revokesOthers: true)
    #expect(!old.isValid)
    #expect(new.isValid)
  }
}
