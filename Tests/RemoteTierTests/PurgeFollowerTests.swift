import CacheFormat
import ClientTesting
import Synchronization
import Testing

@testable import RemoteTier

/// A server that gives no answer: look-ups end at once, as if by their time limits, uploads only when
/// the test says so.
private struct HangingServer: HTTPTransport {
  let isAsked = Gate()
  let end = Gate()

  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    if options.wholeTimeout ?? .zero >= .seconds(10) {
      isAsked.open()
      _ = await end.pass()
    }
    throw TransportError(.timeout, url: request.url.string)
  }
}

@Suite(.timeLimit(.minutes(5)))
struct PurgeFollowerTests {
  private let key: ByteString = "GET http://a.test/x"

  @Test(
    "a purge reaches machines that have looked up before, and one that comes later",
    arguments: [
      PurgeList.Scope.key("GET http://a.test/x"), .prefix("GET http://a.test/"), .tag("t"),
      .everything,
    ])
  func reaching(scope: PurgeList.Scope) async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, [1], tags: ["t"])
    await one.offer("GET http://b.test/", [2])
    #expect(await two.lookUp(key) == .success([1]))
    try await one.tier.purge(scope)
    #expect(await one.lookUp(key) == .failure(.purged))
    two.time.advance(bySeconds: 5.1)
    #expect(await two.lookUp(key) == .failure(.purged))
    let three = try Machine(server)
    #expect(await three.lookUp(key) == .failure(.purged))
    #expect(
      await three.lookUp("GET http://b.test/")
        == (scope == .everything ? .failure(.purged) : .success([2])))
    await two.offer(key, [3], tags: ["t"])
    #expect(await three.lookUp(key) == .success([3]))
  }

  @Test("a response that was requested before a purge is not offered after it")
  func lateOffer() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    let seen = machine.tier.purgeNumber
    try await machine.tier.purge(.key(key))
    await machine.offer(key, [1], seen: seen)
    #expect(machine.tier.statistics.offersFailed == [.purged: 1])
    #expect(await machine.lookUp(key) == .failure(.absent))
  }

  @Test("without a purge list nothing is used: it could have been purged")
  func unreadableList() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, [1])
    let list = "cache.test/team/" + ObjectName.purgeList(of: "default").path
    server.setFault { list.hasSuffix($0.url.target) ? .status(500) : nil }
    #expect(await two.lookUp(key) == .failure(.serverError))
    server.setFault { _ in nil }
    #expect(await two.lookUp(key) == .success([1]))
  }

  @Test("a list that was damaged, or signed with another secret, is a miss and is not replaced")
  func damagedList() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, [1])
    try await one.tier.purge(.tag("x"))
    let list = "cache.test/team/" + ObjectName.purgeList(of: "default").path
    server.state.withLock { $0.objects[list]?.bytes.reverse() }
    #expect(await two.lookUp(key) == .failure(.badDocument))
    let error = await #expect(throws: RemoteCacheError.self) {
      try await one.tier.purge(.tag("y"))
    }
    #expect(error?.code == .purgeFailed && error?.problem.contains("another secret") == true)
    server.state.withLock { $0.objects[list] = nil }
    try await one.tier.purge(.tag("y"))
    #expect(await two.lookUp(key) == .success([1]))
    #expect(two.tier.purges.list.numbers.keys.contains(.tag("x")))
  }

  @Test(
    "a purge that fails names the cause, not that the server is not asked any more",
    arguments: [
      (.failure(.cannotConnect), .unreachable), (.status(401), .refused),
      (.status(500), .serverError),
    ] as [(MemoryServer.Fault, RemoteReason)])
  func cause(fault: MemoryServer.Fault, reason: RemoteReason) async throws {
    let server = MemoryServer()
    server.setFault { _ in fault }
    let machine = try Machine(server)
    let error = await #expect(throws: RemoteCacheError.self) {
      try await machine.tier.purge(.everything)
    }
    #expect(error?.problem == "the purge list was not written (\(reason))")
  }

  @Test("a list that was damaged on one server keeps no purge from the others")
  func damagedListOfOne() async throws {
    let server = MemoryServer()
    let bases = [Machine.base, "http://other.test/"]
    let one = try Machine(server, bases: bases)
    await one.offer(key, [1])
    try await one.tier.purge(.tag("x"))
    let list = "other.test/" + ObjectName.purgeList(of: "default").path
    server.state.withLock { $0.objects[list]?.bytes.reverse() }
    let damaged = server.objects[list]
    let error = await #expect(throws: RemoteCacheError.self) {
      try await Machine(server, bases: bases).tier.purge(.key(key))
    }
    #expect(error?.code == .purgeFailed && error?.subject == "http://other.test/")
    #expect(server.objects[list]?.bytes == damaged?.bytes)
    let other = try Machine(server)
    try await other.tier.purges.refresh()
    #expect(other.tier.purges.list.numbers.keys.contains(.key(key)))
    // With another secret, both lists count as damaged, and nothing is written.
    let before = server.objects.mapValues(\.bytes)
    await #expect(throws: RemoteCacheError.self) {
      try await Machine(server, bases: bases, secret: Array("another secret of it".utf8)).tier
        .purge(.everything)
    }
    #expect(server.objects.mapValues(\.bytes) == before)
  }

  @Test("a server that has lost the list gets it back")
  func lostList() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, [1])
    try await one.tier.purge(.key(key))
    let list = "cache.test/team/" + ObjectName.purgeList(of: "default").path
    server.state.withLock { $0.objects[list] = nil }
    one.time.advance(bySeconds: 6)
    #expect(await one.lookUp(key) == .failure(.purged))
    #expect(await two.lookUp(key) == .failure(.purged))
  }

  @Test("a purge covers older documents although the list was lost everywhere")
  func forgottenList() async throws {
    let server = MemoryServer()
    let one = try Machine(server)
    for number in 0..<5 { try await one.tier.purge(.tag("\(number)")) }
    await one.offer(key, [1])
    let list = "cache.test/team/" + ObjectName.purgeList(of: "default").path
    server.state.withLock { $0.objects[list] = nil }
    let time = TestClock()
    time.advance(bySeconds: 60)
    let two = try Machine(server, time: time)
    try await two.tier.purge(.key(key))
    #expect(await two.lookUp(key) == .failure(.purged))
  }

  @Test("a purge that another machine overwrote covers what was offered until it came back")
  func overwritten() async throws {
    let list = "cache.test/team/" + ObjectName.purgeList(of: "default").path
    let (server, other) = (MemoryServer(hasTags: false), MemoryServer(hasTags: false))
    let (one, two) = (try Machine(server), try Machine(other))
    try await one.tier.purge(.key(key))
    try await two.tier.purge(.tag("x"))
    let written = other.state.withLock { $0.objects[list] }
    server.state.withLock { $0.objects[list] = written }
    let three = try Machine(server)
    await three.offer(key, [1])
    #expect(await three.lookUp(key) == .success([1]))
    try await one.tier.purges.refresh()
    three.time.advance(bySeconds: 6)
    #expect(await three.lookUp(key) == .failure(.purged))
  }

  @Test("a server that says that its list is unchanged gets what others had")
  func unchanged() async throws {
    let list = ObjectName.purgeList(of: "default").path
    let server = MemoryServer()
    let machine = try Machine(server, bases: ["http://one.test/", "http://two.test/"])
    try await machine.tier.purge(.tag("a"))
    let other = try Machine(server, bases: ["http://two.test/"])
    try await other.tier.purge(.tag("b"))
    try await machine.tier.purges.refresh()
    try await machine.tier.purges.refresh()
    #expect(server.objects["one.test/" + list]?.bytes == server.objects["two.test/" + list]?.bytes)
  }

  @Test("the first list of a server is not written over another one")
  func firstList() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    try await machine.tier.purge(.key(key))
    let puts = server.requests.filter { $0.method.rawValue == "PUT" }
    #expect(puts.map { $0.fields.first(named: "If-None-Match")?.text } == ["*"])
  }

  @Test("machines that purge at once have different numbers, and none is lost", arguments: 0..<10)
  func purgesAtOnce(round: Int) async throws {
    let server = MemoryServer(hasTags: round % 2 == 0)
    let machines = try (0..<4).map { _ in try Machine(server) }
    await withTaskGroup(of: Void.self) { group in
      for (number, machine) in machines.enumerated() {
        group.addTask {
          await #expect(throws: Never.self) {
            try await machine.tier.purge(.key(ByteString("\(number)")))
          }
        }
      }
    }
    // Where the server ignores conditions, a purge that was lost comes back with the next reading.
    for machine in machines { try await machine.tier.purges.refresh() }
    let late = try Machine(server)
    _ = await late.lookUp(key)
    let numbers = late.tier.purges.list.numbers
    #expect(numbers.count == 4)
    #expect(Set(numbers.values).count == 4)
  }

  @Test("a purge fails if one of several servers does not have it")
  func unreachableServer() async throws {
    let server = MemoryServer()
    let machine = try Machine(server, bases: ["http://one.test/", "http://two.test/"])
    server.setFault { $0.url.host == "two.test" ? .failure(.cannotConnect) : nil }
    let error = await #expect(throws: RemoteCacheError.self) {
      try await machine.tier.purge(.everything)
    }
    #expect(error == RemoteCacheError(.purgeFailed, "http://two.test/", problem: "", remedy: ""))
    #expect(machine.tier.purges.list.newest > 0, "what is known stays known")
  }

  @Test("a purge fails if a server that can be read takes no list")
  func fullServer() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    server.setFault { $0.method.rawValue == "PUT" ? .status(507) : nil }
    let error = await #expect(throws: RemoteCacheError.self) {
      try await machine.tier.purge(.everything)
    }
    #expect(error?.code == .purgeFailed)
  }

  @Test("a machine with another secret writes its list to no server")
  func otherSecret() async throws {
    let server = MemoryServer()
    let bases = ["http://one.test/", "http://two.test/"]
    try await Machine(server, bases: bases).tier.purge(.key(key))
    let list = "two.test/" + ObjectName.purgeList(of: "default").path
    server.state.withLock { $0.objects[list] = nil }
    let other = try Machine(server, bases: bases, secret: Array("another secret of 16".utf8))
    let error = await #expect(throws: RemoteCacheError.self) {
      try await other.tier.purge(.everything)
    }
    #expect(error?.code == .purgeFailed)
    #expect(server.objects[list] == nil)
  }

  @Test("a list of more scopes than allowed is bounded when it is read")
  func longList() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    try await machine.tier.purge(.tag("x"))
    var list = PurgeList()
    for number in 1...UInt64(PurgeList.maximumScopes + 1) {
      list.add(.key("\(number)"), number: number)
    }
    let bytes = SignedDocument.encode(
      list.encoded(namespace: "default"), bodies: [], secret: Machine.secret)
    server.change("ac") { _ in bytes }
    try await machine.tier.purges.refresh()
    #expect(machine.tier.purges.list.isBounded)
    #expect(machine.tier.purges.list.covers("1", tags: [], generation: 0))
  }

  @Test("a listener gets each change once")
  func listener() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    let changes = Mutex<(scopes: [PurgeList.Scope], list: PurgeList)>(([], PurgeList()))
    let number = two.tier.purges.add { list in
      changes.withLock { $0 = ($0.scopes + list.changes(since: $0.list), list) }
    }
    try await one.tier.purge(.key("a"))
    try await two.tier.purges.refresh()
    try await one.tier.purge(.tag("b"))
    try await two.tier.purges.refresh()
    try await two.tier.purges.refresh()
    #expect(changes.withLock { $0.scopes } == [.key("a"), .tag("b")])
    two.tier.purges.removeListener(number)
    try await one.tier.purge(.tag("c"))
    try await two.tier.purges.refresh()
    #expect(changes.withLock { $0.scopes.count } == 2)
  }

  @Test("a look-up does not wait for the longer time limits of an upload")
  func readingBesideUpload() async throws {
    let server = HangingServer()
    let tier = try Machine(server).tier
    let upload = Task { try? await tier.purges.refresh(within: 0, use: .writing) }
    #expect(await server.isAsked.pass())
    await #expect(throws: RemoteReason.timeout) { try await tier.purges.refresh(within: 0) }
    server.end.open()
    await upload.value
  }

  @Test("the list is read every 5 s at most, with a condition")
  func polling() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    try await machine.tier.purge(.tag("x"))
    await machine.offer(key, [1])
    // A list that was written in the second of another one may have the same tag (nginx), so it is
    // read once more without a condition.
    for isConditional in [false, true, true] {
      machine.time.advance(bySeconds: 6)
      server.clearLog()
      for _ in 0..<5 { _ = await machine.lookUp(key) }
      #expect(server.requests.count == 6)
      let conditional = server.requests.filter { $0.fields.contains("If-None-Match") }
      #expect(conditional.count == (isConditional ? 1 : 0))
    }
  }
}
