import CLibrary
import CacheSystem
import ClientTesting
import SimulatedFiles
import Testing

@testable import CacheClient

/// Purges of a tier, and the stores of its machines.
@Suite(.timeLimit(.minutes(5)))
struct RemotePurgesTests {
  @Test("purges remove what other machines have stored, also one that was away")
  func purges() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    // The client of the second reads another list: it would apply the purge when its time comes.
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, MemoryServer()))
    for path in ["/a", "/b"] {
      try await one.fetch(request(path))
      try await two.fetch(request(path))
    }
    // Another machine purges, and a third one begins with the store of the second.
    let third = RemoteCache(options: two.tier.options, transport: server)
    try await third.purge(.key(one.client.key(of: request("/a"))))
    var options = ClientOptions()
    options.remote = RemoteCache(options: two.tier.options, transport: server)
    let late = CachingClient(
      store: two.sandbox.store, transport: origin, options: options, clock: two.sandbox.clock)
    try await options.remote?.purges.refresh()
    #expect(two.sandbox.store.info(for: late.key(of: request("/a"))) == nil)
    #expect(two.sandbox.store.info(for: late.key(of: request("/b"))) != nil)
    // A purge is applied once.
    _ = try await late.data(for: request("/a"))
    await late.waitForBackground()
    options.remote = RemoteCache(options: two.tier.options, transport: server)
    let later = CachingClient(
      store: two.sandbox.store, transport: origin, options: options, clock: two.sandbox.clock)
    try await options.remote?.purges.refresh()
    #expect(two.sandbox.store.info(for: later.key(of: request("/a"))) != nil)
  }

  @Test("a purge of what answers GET removes what answers HEAD")
  func heads() async throws {
    let server = MemoryServer()
    // The first purge of a store is applied by time, later ones by number.
    let machine = try TierMachine(ScriptedTransport(answer([1])), server)
    for scope in [
      PurgeList.Scope.key("GET http://example.com/a"), .prefix("GET http://example.com/"),
      .key("GET http://example.com/a"),
    ] {
      try machine.sandbox.store.put([], for: "HEAD http://example.com/a")
      try await RemoteCache(options: machine.tier.options, transport: server).purge(scope)
      try await machine.tier.purges.refresh()
      #expect(machine.sandbox.store.info(for: "HEAD http://example.com/a") == nil)
    }
  }

  @Test("purges are applied although the store has used another tier since")
  func otherTier() async throws {
    let origin = ScriptedTransport(answer([1]))
    let (server, otherServer) = (MemoryServer(), MemoryServer())
    // Its client reads another list: it goes on to follow it.
    let one = try TierMachine(origin, MemoryServer())
    try await one.fetch(request())
    let key = one.client.key(of: request())
    try await RemoteCache(options: one.tier.options, transport: server).purge(.key(key))
    let other = try TierMachine(origin, otherServer, base: "http://other.test/")
    try await other.tier.purge(.key("GET http://a.test/else"))
    for (tier, server) in [(other.tier, otherServer), (one.tier, server)] {
      #expect(one.sandbox.store.info(for: key) != nil)
      var options = ClientOptions()
      options.remote = RemoteCache(options: tier.options, transport: server)
      let client = CachingClient(
        store: one.sandbox.store, transport: origin, options: options, clock: one.sandbox.clock)
      try await options.remote?.purges.refresh()
      await client.waitForBackground()
    }
    #expect(one.sandbox.store.info(for: key) == nil)
  }

  @Test("a purge of servers that are new to a store leaves what was stored later")
  func newServers() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    let one = try TierMachine(
      origin, MemoryServer(),
      store: Options(clock: TestClock(SystemClock().now() + 600_000_000_000)))
    let other = try TierMachine(origin, server, base: "http://other.test/")
    try await other.tier.purge(.everything)
    try await one.fetch(request())
    var options = ClientOptions()
    options.remote = RemoteCache(options: other.tier.options, transport: server)
    let client = CachingClient(
      store: one.sandbox.store, transport: origin, options: options, clock: one.sandbox.clock)
    try await options.remote?.purges.refresh()
    await client.waitForBackground()
    #expect(one.sandbox.store.info(for: one.client.key(of: request())) != nil)
  }

  @Test("a purge that failed is applied again")
  func failedPurge() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    let files = FaultyFiles()
    let (one, two) = (
      try TierMachine(origin, server),
      try TierMachine(origin, server, store: Options(fileSystem: files))
    )
    try await two.fetch(request())
    let key = two.client.key(of: request())
    files.faults.set { $0.isChange ? SystemError(EIO) : nil }
    try await one.tier.purge(.key(key))
    try await two.tier.purges.refresh()
    #expect(two.sandbox.store.info(for: key) != nil)
    files.faults.set(nil)
    await two.client.remotePurges?.applyKnown()
    #expect(two.sandbox.store.info(for: key) == nil)
  }

  @Test("purges that overlap with the first ones hide none of them from the store")
  func overlappingPurges() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    let one = try TierMachine(origin, server)
    // The store has applied a purge of this tier, so from now on only newer ones are applied.
    try await one.tier.purge(.key("GET http://a.test/else"))
    try await one.fetch(request("/a"))
    let key = one.client.key(of: request("/a"))
    let older = one.tier.purges.list
    var first = older
    first.add(.key(key), number: older.newest + 1)
    var second = first
    second.add(.tag("t"), number: older.newest + 2)
    // Those of two servers are read at the same time when a process starts. The later ones overtake.
    server.setFault { _ in .failure(.timeout) }
    let late = try one.again(server, mode: .read)
    let purges = try #require(late.remotePurges)
    await purges.apply(second)
    await purges.apply(first)
    #expect(one.sandbox.store.info(for: key) == nil)
  }

  @Test("purges are saved when they are applied, also by several at once")
  func purgesAtOnce() async throws {
    let (origin, server) = (ScriptedTransport(answer([1])), MemoryServer())
    let one = try TierMachine(origin, server)
    let purges = try #require(one.client.remotePurges)
    for number in 1...30 as ClosedRange<UInt64> {
      var list = PurgeList()
      list.add(.tag("t"), number: number)
      await withTaskGroup { group in
        for yields in 0..<40 {
          group.addTask { [list] in
            // They come at different moments of the first.
            for _ in 0..<yields { await Task.yield() }
            await purges.apply(list)
            #expect(RemotePurges.saved(one.tier, in: one.sandbox.store) == list)
          }
        }
      }
    }
  }

  @Test("a purge that only one of two servers has is applied although newer ones were")
  func purgeOfOneServer() async throws {
    let origin = ScriptedTransport(answer([1]))
    let (server, other) = (MemoryServer(), MemoryServer())
    let one = try TierMachine(origin, server)
    try await one.fetch(request())
    let key = one.client.key(of: request())
    // A process that reads one server has applied a purge with a higher number than that of the other.
    try await RemoteCache(options: one.tier.options, transport: other).purge(.key(key))
    try await one.tier.purge(.key(one.client.key(of: request("/else"))))
    #expect(one.sandbox.store.info(for: key) != nil)
    // The next process reads the other one.
    let late = try one.again(other, mode: .read)
    try await late.options.remote?.purges.refresh()
    #expect(one.sandbox.store.info(for: key) == nil)
    // It is applied once, and that of the first server is not applied again either.
    let again = [request(), request("/else")]
    for request in again {
      _ = try late.store([2], HTTPResponseHead(status: 200, fields: fresh()), for: request)
    }
    for server in [server, other] {
      let client = try one.again(server, mode: .read)
      try await client.options.remote?.purges.refresh()
      for request in again {
        #expect(one.sandbox.store.info(for: client.key(of: request)) != nil)
      }
    }
  }

  @Test("a purge that another process has applied is applied to what this one has stored since")
  func purgeOfAnotherProcess() async throws {
    let origin = ScriptedTransport(answer([1]))
    let (server, other) = (MemoryServer(), MemoryServer())
    let one = try TierMachine(origin, server)
    let key = one.client.key(of: request())
    // With a list in the store, numbers decide and not times.
    try await one.tier.purge(.key(one.client.key(of: request("/else"))))
    // It runs before the purge, and reads none by itself.
    other.setFault { _ in .failure(.timeout) }
    let late = try one.again(other, mode: .read)
    let purges = try #require(late.remotePurges)
    await purges.applyKnown()
    try await one.tier.purge(.key(key))
    // It was requested before the purge.
    _ = try late.store([2], HTTPResponseHead(status: 200, fields: fresh()), for: request())
    await purges.apply(one.tier.purges.list)
    #expect(one.sandbox.store.info(for: key) == nil)
  }
}
