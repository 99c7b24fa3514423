import CacheFormat
import CacheSystem
import ClientTesting
import Testing

@testable import RemoteTier

@Suite(.timeLimit(.minutes(5)))
struct InvalidationTests {
  private let key: ByteString = "GET http://a.test/x"

  @Test("a machine that has changed a resource empties its document, for all machines")
  func emptied() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, [1])
    one.tier.invalidate(key)
    await one.tier.drain()
    #expect(await one.lookUp(key) == .failure(.noVariant))
    #expect(await two.lookUp(key) == .failure(.noVariant))
    await two.offer(key, [2])
    #expect(await one.lookUp(key) == .success([2]))
  }

  @Test(
    "if the document cannot be emptied, it is not used by this machine", arguments: [true, false])
  func blocked(isReadOnly: Bool) async throws {
    let server = MemoryServer()
    await (try Machine(server)).offer(key, [1])
    let machine = try Machine(server, mode: isReadOnly ? .read : .both)
    if !isReadOnly { server.setFault { $0.method.rawValue == "PUT" ? .status(500) : nil } }
    machine.tier.invalidate(key)
    await machine.tier.drain()
    #expect(await machine.lookUp(key) == .failure(.purged))
  }

  /// Makes two machines; the first one could not empty the document of ``key``.
  private func machinesAfterFailure(_ server: MemoryServer) async throws -> (Machine, Machine) {
    let (one, two) = (try Machine(server), try Machine(server))
    await two.offer(key, [1])
    server.setFault { $0.method.rawValue == "PUT" ? .status(500) : nil }
    one.tier.invalidate(key)
    await one.tier.drain()
    return (one, two)
  }

  @Test("what could not be emptied is tried again after the next offer")
  func again() async throws {
    let server = MemoryServer()
    let (one, two) = try await machinesAfterFailure(server)
    server.setFault { _ in nil }
    #expect(await two.lookUp(key) == .success([1]))
    await one.offer("GET http://a.test/y", [2])
    await one.tier.drain()
    #expect(await one.lookUp(key) == .failure(.noVariant))
    #expect(await two.lookUp(key) == .failure(.noVariant))
  }

  @Test("what could not be emptied is tried again when the purge list was read")
  func againWithPurges() async throws {
    let server = MemoryServer()
    let (one, two) = try await machinesAfterFailure(server)
    server.setFault { _ in .status(500) }
    await one.tier.followPurges(within: 0)
    await one.tier.drain()
    #expect(one.tier.unemptied.withLock { Array($0.keys) } == [key])
    server.setFault { _ in nil }
    one.time.advance(bySeconds: 100)
    await one.tier.followPurges(within: 0)
    await one.tier.drain()
    #expect(one.tier.unemptied.withLock { $0 }.isEmpty)
    #expect(await two.lookUp(key) == .failure(.noVariant))
  }

  @Test("a document that another writer holds is not emptied")
  func conflict() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    await machine.offer(key, [1])
    server.setFault { $0.method.rawValue == "PUT" ? .status(409) : nil }
    machine.tier.invalidate(key)
    await machine.tier.drain()
    #expect(await machine.lookUp(key) == .failure(.purged))
  }

  @Test("what cannot be emptied for long is tried again once a minute")
  func pauses() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    await machine.offer(key, [1])
    let document = ObjectName.document(of: key, in: "default").path
    @Sendable func isOfKey(_ request: HTTPRequest) -> Bool {
      request.method.rawValue == "PUT" && request.url.target.hasSuffix(document)
    }
    server.setFault { isOfKey($0) ? .status(507) : nil }
    machine.tier.invalidate(key)
    await machine.tier.drain()
    for (seconds, tries) in [(0, 1), (59, 0), (1, 1), (59, 0), (1, 1)] {
      machine.time.advance(bySeconds: Double(seconds))
      server.clearLog()
      await machine.offer("GET http://a.test/y", [UInt8(tries)], received: machine.time.now())
      await machine.tier.drain()
      #expect(server.requests.count(where: isOfKey) == tries)
    }
    #expect(machine.tier.statistics.offersFailed.values.reduce(0, +) == 1)
  }

  private let keys = (0..<20).map { ByteString("GET http://a.test/\($0)") }

  @Test("when a server is back, everything is emptied that was refused while that was not known")
  func back() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    for key in keys { await two.offer(key, [1]) }
    server.setFault { _ in .failure(.cannotConnect) }
    for key in keys { one.tier.invalidate(key) }
    await one.tier.drain()
    let gate = Gate()
    let paths = Set(keys.map { "/team/" + ObjectName.document(of: $0, in: "default").path })
    server.setFault { paths.contains($0.url.target) ? .hold(gate) : nil }
    one.time.advance(bySeconds: 100)
    await one.tier.followPurges(within: 0)
    await eventually {
      one.tier.unemptied.withLock { $0.count == 19 && !$0.values.contains { $0.isWaiting } }
    }
    gate.open()
    await one.tier.drain()
    #expect(one.tier.unemptied.withLock { $0 }.isEmpty)
    for key in keys { #expect(await two.lookUp(key) == .failure(.noVariant)) }
  }

  @Test("an offer to a server that is back empties what was refused while another one took offers")
  func backAmongSeveral() async throws {
    let server = MemoryServer()
    let bases = ["http://a.test/team/", "http://b.test/team/"]
    let (one, two) = (try Machine(server, bases: bases), try Machine(server, bases: bases))
    for key in keys { await two.offer(key, [1]) }
    server.setFault { $0.url.host == "b.test" ? .failure(.cannotConnect) : nil }
    for key in keys { one.tier.invalidate(key) }
    await one.tier.drain()
    await one.offer("GET http://a.test/y", [2])
    await one.tier.drain()
    #expect(one.tier.unemptied.withLock { $0.count } == 20)
    server.setFault { _ in nil }
    one.time.advance(bySeconds: 2)
    for number in 0..<10 { await one.offer("GET http://b.test/\(number)", [2]) }
    await one.tier.drain()
    #expect(one.tier.unemptied.withLock { $0 }.isEmpty)
    for key in keys { #expect(await two.lookUp(key) == .failure(.noVariant)) }
  }

  @Test("what is tried again does not fill the queue")
  func fewAtOnce() async throws {
    let server = MemoryServer()
    let machine = try Machine(server) { $0.maximumWaitingOffers = 4 }
    for key in keys { await machine.offer(key, [1]) }
    server.setFault { $0.method.rawValue == "PUT" ? .status(507) : nil }
    for key in keys { machine.tier.invalidate(key) }
    await machine.tier.drain()
    server.setFault { _ in nil }
    let dropped = machine.tier.statistics.offersDropped
    await machine.offer("GET http://a.test/y", [2])
    await machine.tier.drain()
    #expect(machine.tier.unemptied.withLock { $0 }.isEmpty)
    #expect(machine.tier.statistics.offersDropped == dropped)
  }

  @Test(
    "what was tried last is tried again last",
    arguments: [.status(507), .failure(.connectionLost)] as [MemoryServer.Fault])
  func inTurn(fault: MemoryServer.Fault) async throws {
    let server = MemoryServer()
    let machine = try Machine(server) { $0.uploads = 1 }
    for key in keys { await machine.offer(key, [1]) }
    let paths = Set(keys.map { "/team/" + ObjectName.document(of: $0, in: "default").path })
    server.setFault {
      $0.method.rawValue == "PUT" && paths.contains($0.url.target) ? fault : nil
    }
    for key in keys { machine.tier.invalidate(key) }
    await machine.tier.drain()
    server.clearLog()
    for number in keys.indices {
      machine.time.advance(bySeconds: 61)
      await machine.offer("GET http://b.test/\(number)", [2], received: machine.time.now())
      await machine.tier.drain()
    }
    let tried = server.requests.filter { $0.method.rawValue == "PUT" }.map(\.url.target)
    #expect(paths.isSubset(of: tried))
  }

  @Test("what was not emptied because too much waits is tried again")
  func dropped() async throws {
    let server = MemoryServer()
    await (try Machine(server)).offer(key, [1])
    let machine = try Machine(server) { ($0.maximumWaitingOffers, $0.uploads) = (1, 1) }
    let gate = Gate()
    machine.tier.offer("GET http://a.test/y", variant: 0, length: 1, seen: 0) {
      _ = await gate.pass()
      return nil
    }
    machine.tier.invalidate(key)
    machine.tier.invalidate("GET http://a.test/z")
    #expect(machine.tier.statistics.offersDropped == 1)
    gate.open()
    await machine.tier.drain()
    #expect(await machine.lookUp(key) == .failure(.noVariant))
  }

  @Test("a document on a server that cannot be written is not used, although another server can be")
  func severalServers() async throws {
    let server = MemoryServer()
    let bases = ["http://a.test/team/", "http://b.test/team/"]
    let machine = try Machine(server, bases: bases)
    await machine.offer(key, [1])
    let put = try #require(server.requests.last { $0.method.rawValue == "PUT" })
    let host = put.url.host
    server.setFault { $0.method.rawValue == "PUT" && $0.url.host == host ? .status(403) : nil }
    // Another variant of the same key goes to the same server, which is not written to any more.
    await machine.offer(key, [2], selecting: ["a:b"])
    machine.tier.invalidate(key)
    await machine.tier.drain()
    #expect(await machine.lookUp(key) == .failure(.purged))
  }

  @Test("while one of several servers is away, what others offer to the rest is not emptied again")
  func awayServer() async throws {
    let server = MemoryServer()
    let bases = ["http://a.test/team/", "http://b.test/team/"]
    let (one, two) = (try Machine(server, bases: bases), try Machine(server, bases: bases))
    await two.offer(key, [1])
    let put = try #require(server.requests.last { $0.method.rawValue == "PUT" })
    let host = put.url.host
    server.setFault { $0.url.host == host ? nil : .failure(.cannotConnect) }
    one.tier.invalidate(key)
    await one.tier.drain()
    #expect(await two.lookUp(key) == .failure(.noVariant))
    await two.offer(key, [2])
    one.time.advance(bySeconds: 100)
    await one.tier.followPurges(within: 0)
    await one.tier.drain()
    #expect(await two.lookUp(key) == .success([2]))
  }

  @Test("nothing is written where there was no document")
  func absent() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    machine.tier.invalidate(key)
    await machine.tier.drain()
    #expect(server.objects.isEmpty)
    #expect(await machine.lookUp(key) == .failure(.absent))
  }
}
