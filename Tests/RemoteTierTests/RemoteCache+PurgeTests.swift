import CacheFormat
import ClientTesting
import Synchronization
import Testing

@testable import RemoteTier

@Suite(.timeLimit(.minutes(1)))
struct RemoteCachePurgeTests {
  @Test func `with the mode read nothing is purged, and the server is not asked`() async throws {
    let server = MemoryServer()
    let reader = try Machine(server, mode: .read)
    do throws(RemoteCacheError) {
      try await reader.tier.purge(.everything)
      Issue.record("it was purged")
    } catch { #expect(error.code == .readOnly) }
    #expect(server.requests.isEmpty && reader.tier.purgeNumber == 0)
  }

  @Test func `a listener hears of newer purges until it is removed`() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    let heard = Mutex<[UInt64]>([])
    let number = two.tier.purges.add { list in heard.withLock { $0.append(list.newest) } }
    try await one.tier.purge(.tag("t"))
    try await two.tier.purges.refresh()
    let first = two.tier.purgeNumber
    #expect(first > 0 && heard.withLock { $0 } == [first])
    try await two.tier.purges.refresh()
    #expect(heard.withLock { $0 } == [first], "nothing is newer")
    two.tier.purges.removeListener(number)
    two.tier.purges.removeListener(number)
    try await one.tier.purge(.everything)
    two.time.advance(bySeconds: 10)
    try await two.tier.purges.refresh()
    #expect(two.tier.purgeNumber > first && heard.withLock { $0 } == [first])
    #expect(two.tier.purges.list.newest == two.tier.purgeNumber)
  }
}
