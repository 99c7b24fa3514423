import CacheFormat
import ClientTesting
import Synchronization
import Testing

@testable import RemoteTier

@Suite(.timeLimit(.minutes(5)))
struct RemoteCacheOfferTests {
  private let key: ByteString = "GET http://a.test/x"

  @Test("a body is put before its document, and only if it is not there")
  func order() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    var random = SplitMix64(seed: 1)
    let body = random.bytes(5000)
    await machine.offer(key, body)
    let log = server.log.filter { !$0.hasPrefix("GET") }
    #expect(log == ["HEAD cas", "PUT cas", "PUT ac"])
    let puts = server.requests.filter { $0.method.rawValue == "PUT" }
    #expect(puts.allSatisfy { $0.fields.first(named: "If-None-Match")?.text == "*" })
    server.clearLog()
    await machine.offer("GET http://a.test/same", body)
    #expect(server.log.filter { !$0.hasPrefix("GET") } == ["HEAD cas", "PUT ac"])
  }

  @Test("a new head of the same body rewrites the document only")
  func rewriting() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    let body = Array(repeating: UInt8(7), count: 10_000)
    await machine.offer(key, body, received: 1)
    server.clearLog()
    await machine.offer(key, body, received: 2)
    #expect(server.log.filter { $0.hasPrefix("PUT") } == ["PUT ac"])
    server.clearLog()
    await machine.offer(key, body, received: 1)
    #expect(server.log.filter { $0.hasPrefix("PUT") } == [], "an older one changes nothing")
  }

  @Test("two writers of one document lose nothing where the server honours conditions")
  func twoWriters() async throws {
    let server = MemoryServer()
    let machines = try (0..<4).map { _ in try Machine(server) }
    await withTaskGroup(of: Void.self) { group in
      for (number, machine) in machines.enumerated() {
        group.addTask { await machine.offer(key, [UInt8(number)], selecting: ["a:\(number)"]) }
      }
    }
    for number in 0..<4 {
      #expect(
        await machines[0].lookUp(key, selecting: ["a:\(number)"]) == .success([UInt8(number)]))
    }
  }

  @Test("without conditions a lost update is a miss, never a wrong answer")
  func lostUpdates() async throws {
    let server = MemoryServer(isBazel: true, hasTags: false)
    let machines = try (0..<4).map { _ in try Machine(server) }
    await withTaskGroup(of: Void.self) { group in
      for (number, machine) in machines.enumerated() {
        group.addTask { await machine.offer(key, [UInt8(number)], selecting: ["a:\(number)"]) }
      }
    }
    for number in 0..<4 {
      switch await machines[0].lookUp(key, selecting: ["a:\(number)"]) {
      case .success(let bytes): #expect(bytes == [UInt8(number)])
      case .failure(let reason): #expect(reason == .noVariant)
      }
    }
  }

  @Test("too many offers drop the oldest ones, and count them")
  func droppedOffers() async throws {
    let server = MemoryServer()
    let gate = Gate()
    let machine = try Machine(server) {
      ($0.maximumWaitingOffers, $0.uploads) = (10, 1)
    }
    machine.tier.offer("first", variant: 0, length: 1, seen: 0) {
      _ = await gate.pass()
      return nil
    }
    for number in 0..<100 { machine.offerOnly("k\(number)", [UInt8(number)]) }
    #expect(machine.tier.statistics.offersWaiting == 10)
    gate.open()
    await machine.tier.drain()
    #expect(machine.tier.statistics.offersDropped == 90)
    #expect(machine.tier.statistics.offersStored == 10)
    #expect(await machine.lookUp("k99") == .success([99]))
    #expect(await machine.lookUp("k0") == .failure(.absent))
  }

  @Test("offers that wait are bounded by the bytes of their bodies, too")
  func droppedBytes() async throws {
    let gate = Gate()
    let machine = try Machine(MemoryServer()) {
      ($0.maximumWaitingBytes, $0.uploads) = (10_000, 1)
    }
    machine.tier.offer("first", variant: 0, length: 1, seen: 0) {
      _ = await gate.pass()
      return nil
    }
    for number in 0..<10 {
      machine.offerOnly("k\(number)", Array(repeating: UInt8(number), count: 3000))
    }
    #expect(machine.tier.statistics.offersWaiting == 3)
    gate.open()
    await machine.tier.drain()
    #expect(machine.tier.statistics.offersDropped == 7)
  }

  @Test func `an offer that has nothing to give, or too much, sends nothing`() async throws {
    let server = MemoryServer()
    let machine = try Machine(server) { $0.maximumBodyBytes = 100 }
    machine.tier.offer(key, variant: 0, length: 100, seen: 0) { nil }
    machine.tier.offer(key, variant: 1, length: 101, seen: 0) {
      Issue.record("it is too long")
      return nil
    }
    await machine.tier.drain()
    #expect(server.requests.isEmpty && machine.tier.statistics.offersStored == 0)
    #expect(machine.tier.statistics.offersFailed == [:])
  }

  @Test func `a body that is gone when its turn comes is told, and named by no document`()
    async throws
  {
    let server = MemoryServer()
    let machine = try Machine(server)
    let response = Machine.response(Array(repeating: 1, count: 5_000))
    machine.tier.offer(key, variant: 0, length: response.length, seen: 0) {
      RemoteOffer(response: response) { nil }
    }
    await machine.tier.drain()
    #expect(machine.tier.statistics.offersFailed == [.notStored: 1])
    #expect(server.objects.isEmpty)
  }

  @Test func `a server that takes no bodies is left alone after some, and gets no document`()
    async throws
  {
    let server = MemoryServer()
    let machine = try Machine(server)
    server.setFault {
      $0.method.rawValue == "PUT" && $0.url.target.contains("/cas/") ? .status(404) : nil
    }
    for number in 0..<10 {
      await machine.offer(
        "GET http://a.test/\(number)", Array(repeating: UInt8(number), count: 5_000))
    }
    // It says with each HEAD that it works, so three in a row are not needed.
    let most = Breaker.failuresInWindow
    #expect(server.log.count { $0 == "PUT cas" } == most && !server.log.contains("PUT ac"))
    let failed = machine.tier.statistics.offersFailed
    #expect(failed == [.serverError: UInt64(most), .open: UInt64(10 - most)])
  }

  @Test(arguments: ["", "W/\"1\""])
  func `a tag with which no condition can hold is not sent`(tag: String) async throws {
    let document = SharedDocument(
      namespace: "default", key: key, generation: 0, responses: [Machine.response([1])])
    var list = PurgeList()
    list.add(.tag("x"), number: 1)
    let inner = (list: list.encoded(namespace: "default"), document: document.encoded())
    let listPath = ObjectName.purgeList(of: "default").path
    let scripted = ScriptedTransport { request in
      guard request.method == .get else { return .success(.init("")) }
      let isList = request.url.target.hasSuffix(listPath)
      let bytes = SignedDocument.encode(
        isList ? inner.list : inner.document, bodies: [], secret: Machine.secret)
      return .success(.init([bytes], fields: [HTTPField("ETag", tag)]))
    }
    let machine = try Machine(scripted)
    await machine.offer(key, [2], selecting: ["a:b"])
    await #expect(throws: RemoteCacheError.self) { try await machine.tier.purge(.key(key)) }
    let puts = scripted.requests.filter { $0.method.rawValue == "PUT" }
    #expect(Set(puts.map(\.url.target)).count == 2)
    #expect(puts.allSatisfy { !$0.fields.contains("If-Match") })
    #expect(puts.allSatisfy { !$0.fields.contains("If-None-Match") })
  }

  @Test func `a document that another writer has changed meanwhile is written again`() async throws
  {
    let server = MemoryServer()
    let machine = try Machine(server)
    let isFirst = Mutex(true)
    server.setFault { request in
      guard request.method.rawValue == "PUT" else { return nil }
      return isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst ? .status(412) : nil
      }
    }
    await machine.offer(key, [1])
    #expect(machine.tier.statistics.offersStored == 1)
    #expect(await machine.lookUp(key) == .success([1]))
  }

  @Test func `a body of another length on the server is replaced`() async throws {
    let server = MemoryServer()
    let body = Array(repeating: UInt8(7), count: 5_000)
    try await Machine(server).offer(key, body)
    server.change("cas") { Array($0.dropLast()) }
    try await Machine(server).offer("GET http://a.test/other", body)
    #expect(server.objects.filter { $0.key.contains("/cas/") }.map(\.value.bytes) == [body])
  }

  @Test func `what was requested before a purge of another machine is not offered`() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    try await one.tier.purge(.key(key))
    await two.offer(key, [1], seen: 0)
    #expect(two.tier.statistics.offersFailed == [.purged: 1])
    #expect(server.objects.count == 1)
  }

  @Test func `a body that another writer has put meanwhile is named by the document`() async throws
  {
    let server = MemoryServer()
    let machine = try Machine(server)
    server.setFault { request in
      guard request.url.target.contains("/cas/") else { return nil }
      return .status(request.method == .head ? 404 : 412)
    }
    await machine.offer(key, Array(repeating: 7, count: 5_000))
    #expect(machine.tier.statistics.offersStored == 1)
    #expect(server.log.contains("PUT ac"))
  }
}
