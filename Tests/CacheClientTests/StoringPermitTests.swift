import CacheStore
import CacheSystem
import ClientTesting
import HTTPSemantics
import HTTPTransports
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct StoringPermitTests {
  private let key = ByteString("k")

  @Test(arguments: [false, true])
  func `whoever takes permits back waits for what is being stored with one`(all: Bool) async {
    let permits = StoringPermits()
    let permit = permits.make(key)
    #expect(permit.beginStoring())
    let isRevoked = Promise<Bool>()
    let revoking = Task {
      if all { await permits.revokeAllAndWait() } else { await permits.revokeAndWait(key) }
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

  @Test(arguments: [true, false])
  func `what was invalidated while it was stored is removed, but not what has replaced it`(
    isReplaced: Bool
  ) throws {
    let sandbox = try ClientSandbox(ScriptedTransport.Answer())
    let client = sandbox.client
    let head = HTTPResponseHead(status: 200, fields: fresh())
    let judged = client.judge(
      head, bodyLength: 1, for: request(), options: FetchOptions(), received: client.now)
    guard case .success(.yes(let plan)) = judged else {
      Issue.record("the response may not be stored")
      return
    }
    let permit = client.permitToStore(request())
    let outcome = try permit.store(plan, client.cache, now: client.now) { () throws(StoreError) in
      client.permits.revoke(plan.key)
      let info = try plan.store([1], in: sandbox.store)
      if isReplaced { _ = try client.store([2], head, for: request()) }
      return info
    }
    #expect(throws: NotStored.invalidated) { try outcome.get() }
    let left = try client.storedAnswer(to: request())?.storedBytes()
    #expect(left == (isReplaced ? [2] : nil))
  }

  @Test func `a permit that takes the others back is valid itself`() {
    let permits = StoringPermits()
    let old = permits.make(key)
    let new = permits.make(key, revokesOthers: true)
    #expect(!old.isValid)
    #expect(new.isValid)
  }
}
