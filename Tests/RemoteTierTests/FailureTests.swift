import CacheFormat
import ClientTesting
import Synchronization
import Testing

@testable import RemoteTier

/// The failure cases of a server, in memory.
@Suite(.timeLimit(.minutes(5)))
struct FailureTests {
  private let key: ByteString = "GET http://a.test/x"
  private let body = Array(repeating: UInt8(42), count: 5000)

  /// A case: a name, what goes wrong with which folder, and the reason of the miss.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let folder: String
    let fault: MemoryServer.Fault
    let reason: RemoteReason

    init(
      _ name: String, _ folder: String, _ fault: MemoryServer.Fault, _ reason: RemoteReason
    ) {
      (testDescription, self.folder, self.fault, self.reason) = (name, folder, fault, reason)
    }
  }

  static let cases = [
    Case("unreachable", "ac", .failure(.cannotConnect), .unreachable),
    Case("a name that cannot be resolved", "ac", .failure(.cannotResolve), .unreachable),
    Case("a name server that hangs", "ac", .failure(.timeout), .timeout),
    Case("an expired certificate", "ac", .failure(.certificate), .untrusted),
    Case("garbage instead of HTTP", "ac", .failure(.protocolViolation), .garbage),
    Case("500", "ac", .status(500), .serverError),
    Case("429", "cas", .status(429), .serverError),
    Case("507 to a GET", "ac", .status(507), .full),
    Case("401", "ac", .status(401), .refused), Case("403", "cas", .status(403), .refused),
    Case("a redirect", "ac", .status(302), .redirect),
    Case("206 that nobody asked for", "cas", .status(206), .serverError),
    Case("304 without a condition", "ac", .status(304), .serverError),
    Case("204", "ac", .status(204), .serverError),
    Case(
      "a captive portal", "ac", .change { _ in Array("<html>Log in</html>".utf8) }, .badDocument),
    Case(
      "a captive portal in place of a body", "cas", .change { _ in Array("<html>".utf8) },
      .wrongBytes),
    Case(
      "an endless document", "ac", .change { _ in Array(repeating: 0x20, count: 5 << 20) },
      .badDocument),
    Case("a truncated document", "ac", .change { Array($0.dropLast(9)) }, .badDocument),
    Case("a document that ends too early", "ac", .cut(20), .truncated),
    Case("one bit of the body", "cas", .change { [$0[0] ^ 1] + $0.dropFirst() }, .wrongBytes),
    Case("a body that is too short", "cas", .change { Array($0.dropLast()) }, .wrongBytes),
    Case("a body that is too long", "cas", .change { $0 + [1] }, .wrongBytes),
    Case(
      "an endless body", "cas", .change { $0 + Array(repeating: 1, count: 9 << 20) }, .wrongBytes),
    Case("a body that ends too early", "cas", .cut(4999), .truncated),
    Case("a body that is gone", "cas", .status(404), .bodyGone),
    Case("a connection that is lost in a body", "cas", .failure(.connectionLost), .unreachable),
  ]

  @Test("each failure of a look-up is a miss with its reason", arguments: cases)
  func lookUps(_ failure: Case) async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, body)
    let list = ObjectName.purgeList(of: "default").digits
    server.setFault { request in
      let path = request.url.target
      return path.contains("/\(failure.folder)/") && !path.hasSuffix(list) ? failure.fault : nil
    }
    #expect(await two.lookUp(key) == .failure(failure.reason))
    #expect(two.tier.statistics.misses == [failure.reason: 1])
    server.setFault { _ in nil }
    two.time.advance(bySeconds: 70)
    let isOff = failure.reason == .refused
    #expect(await two.lookUp(key) == (isOff ? .failure(.off) : .success(body)))
  }

  @Test("401 and 403 switch the server off, with one notice", arguments: [401, 403])
  func refused(status: Int) async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    server.setFault { _ in .status(status) }
    for _ in 0..<5 { _ = await machine.lookUp(key) }
    await machine.offer(key, body)
    #expect(machine.notices.all == [.switchedOff(server: Machine.base, status: status)])
    #expect(server.requests.count == 1)
    #expect(machine.tier.statistics.servers.first?.reading == "off")
  }

  @Test(
    "credentials that may only read switch uploads off, and look-ups go on",
    arguments: [401, 403, 405])
  func readOnly(status: Int) async throws {
    let server = MemoryServer()
    await (try Machine(server)).offer("other", body)
    let machine = try Machine(server)
    server.setFault { $0.method.rawValue == "PUT" ? .status(status) : nil }
    await machine.offer(key, [1])
    await machine.offer(key, [1])
    #expect(machine.notices.all == [.readOnly(server: Machine.base, status: status)])
    #expect(machine.tier.statistics.offersFailed == [.refused: 1, .off: 1])
    #expect(await machine.lookUp("other") == .success(body))
  }

  @Test("wrong bytes are reported")
  func wrongBytes() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, body)
    server.change("cas") { [0] + $0.dropFirst() }
    #expect(await two.lookUp(key) == .failure(.wrongBytes))
    #expect(two.notices.all == [.wrongBytes(server: Machine.base, key: "GET http://a.test/x")])
  }

  @Test("a body that was damaged on the server is replaced by the next offer", arguments: [0, 1])
  func damagedBody(cut: Int) async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, body, received: 1)
    server.change("cas") { [0] + $0.dropFirst(1 + cut) }
    #expect(await two.lookUp(key) == .failure(.wrongBytes))
    await two.offer(key, body, received: 2)
    let three = try Machine(server)
    #expect(await three.lookUp(key) == .success(body))
  }

  @Test("a full server takes nothing, and is still read", arguments: [507, 413])
  func full(status: Int) async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    await machine.offer("other", body)
    server.setFault { $0.method.rawValue == "PUT" ? .status(status) : nil }
    for number in 0..<10 { await machine.offer("k\(number)", body) }
    #expect(machine.tier.statistics.offersFailed == [.full: 10])
    #expect(await machine.lookUp("other") == .success(body))
  }

  @Test("200 to a PUT and nothing stored is a miss", arguments: ["ac", "cas"])
  func forgetting(folder: String) async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    server.setFault {
      $0.method.rawValue == "PUT" && $0.url.target.contains("/\(folder)/") ? .forget : nil
    }
    await one.offer(key, body)
    #expect(await two.lookUp(key) == .failure(folder == "ac" ? .absent : .bodyGone))
  }

  @Test(
    "a body that was evicted under its document is a miss, and offered again",
    arguments: [true, false])
  func evicted(isBazel: Bool) async throws {
    let server = MemoryServer(isBazel: isBazel)
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, body, received: 1)
    server.change("cas") { _ in nil }
    #expect(await two.lookUp(key) == .failure(isBazel ? .absent : .bodyGone))
    await two.offer(key, body, received: 2)
    #expect(await two.lookUp(key) == .success(body))
  }

  @Test("an old document that is replayed gives what was right once")
  func replayed() async throws {
    let server = MemoryServer()
    let (one, two) = (try Machine(server), try Machine(server))
    await one.offer(key, [1], received: 1)
    let old = server.objects
    await one.offer(key, [2], received: 2)
    server.state.withLock { $0.objects = old }
    #expect(await two.lookUp(key) == .success([1]))
  }

  @Test("the breaker keeps look-ups from a server that fails, and asks it in the background")
  func breaker() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    await machine.offer(key, body)
    server.setFault { _ in .failure(.timeout) }
    server.clearLog()
    machine.time.advance(bySeconds: 6)
    for number in 0..<200 { _ = await machine.lookUp(ByteString("GET http://a.test/\(number)")) }
    #expect(server.requests.count == 3)
    #expect(machine.tier.statistics.misses == [.timeout: 3, .open: 197])
    // The probe is under way as long as the look-ups.
    let gate = Gate()
    server.setFault { _ in .hold(gate) }
    server.clearLog()
    machine.time.advance(bySeconds: 1.1)
    for _ in 0..<20 { #expect(await machine.lookUp(key) == .failure(.open)) }
    gate.open()
    await machine.waitForProbe()
    #expect(server.requests.count == 1)
    #expect(machine.tier.statistics.servers.first?.reading == "closed")
    #expect(await machine.lookUp(key) == .success(body))
  }

  @Test("a server that has documents, and hangs in each body, is given up after three")
  func hangingBodies() async throws {
    let server = MemoryServer()
    let machine = try Machine(server)
    let keys = (0..<20).map { ByteString("GET http://a.test/\($0)") }
    for key in keys { await machine.offer(key, body) }
    server.setFault { $0.url.target.contains("/cas/") ? .failure(.timeout) : nil }
    for key in keys { _ = await machine.lookUp(key) }
    #expect(machine.tier.statistics.misses == [.timeout: 3, .open: 17])
    // The probe succeeds, and the bodies hang again: open for 2 s now.
    machine.time.advance(bySeconds: 1.1)
    _ = await machine.lookUp(keys[0])
    await machine.waitForProbe()
    for key in keys { _ = await machine.lookUp(key) }
    #expect(machine.tier.statistics.misses == [.timeout: 6, .open: 35])
    machine.time.advance(bySeconds: 1.1)
    #expect(await machine.lookUp(keys[0]) == .failure(.open))
    #expect(machine.tier.statistics.servers.first?.reading == "open")
  }

  @Test("more look-ups at once than allowed are misses")
  func busy() async throws {
    let server = MemoryServer()
    let machine = try Machine(server) { $0.maximumLookUps = 0 }
    #expect(await machine.lookUp(key) == .failure(.busy))
    #expect(server.requests.count == 1, "the purge list")
  }

  @Test("purges are read while as many look-ups as allowed are under way")
  func purgesBesideLookUps() async throws {
    let server = MemoryServer()
    await (try Machine(server)).offer(key, body)
    let machine = try Machine(server) { $0.maximumLookUps = 1 }
    let found = try await machine.tier.lookUp(key) { _ in .success(0) }
    try await machine.tier.purges.refresh()
    #expect(await machine.lookUp("GET http://a.test/y") == .failure(.busy))
    while try await found.body.next() != nil {}
    #expect(await machine.lookUp(key) == .success(body))
  }

  @Test("uploads are no look-ups")
  func uploadsBesideLookUps() async throws {
    let server = MemoryServer()
    await (try Machine(server)).offer(key, body)
    let (begun, gate) = (Gate(), Gate())
    let held = HeldPuts(server: server, begun: begun, gate: gate)
    let machine = try Machine(held) { $0.maximumLookUps = 1 }
    machine.offerOnly("GET http://a.test/y", [1])
    #expect(await begun.pass())
    #expect(await machine.lookUp(key) == .success(body))
    gate.open()
    await machine.tier.drain()
    #expect(machine.tier.statistics.offersStored == 1)
  }

  /// Holds what is put until a gate is open.
  private struct HeldPuts: HTTPTransport {
    let server: MemoryServer
    let begun: Gate
    let gate: Gate

    func send(
      _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
      onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
    ) async throws(TransportError) -> TransportResponse {
      if request.method.rawValue == "PUT" {
        begun.open()
        _ = await gate.pass()
      }
      return try await server.send(request, body: body, options: options, onInterim: onInterim)
    }
  }

  @Test("a body beyond the limit of this machine is neither fetched nor offered")
  func tooLarge() async throws {
    let server = MemoryServer()
    await (try Machine(server)).offer(key, body)
    let small = try Machine(server) { $0.maximumBodyBytes = 4999 }
    server.clearLog()
    #expect(await small.lookUp(key) == .failure(.tooLarge))
    await small.offer(key, body)
    #expect(!server.log.contains("GET cas") && !server.log.contains("PUT ac"))
  }
}
