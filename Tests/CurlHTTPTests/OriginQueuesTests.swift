import Dispatch
import Testing
import TransportTesting

@testable import CurlHTTP

struct OriginQueuesTests {
  private func transfer(
    _ target: String, priority: Int = 0, wholeTimeout: Duration? = nil
  ) throws -> Transfer {
    Transfer(
      HTTPRequest(url: try NormalizedURL("http://h\(target)")), nil,
      options: TransportOptions(wholeTimeout: wholeTimeout, priority: priority),
      capacity: { 1 }, onInterim: { _ in }, ask: { _, _ in })
  }

  /// Takes what may run now, and returns the targets.
  private func next(_ queues: OriginQueues) -> [String] {
    var targets: [String] = []
    while let next = queues.takeNext() { targets.append(next.request.url.target) }
    return targets
  }

  @Test func `higher priorities go first, equal ones in the order of their start`() throws {
    let queues = OriginQueues(limit: 1)
    let first = try transfer("/first")
    #expect(queues.admit(first))
    let waiting = try [("/a", 0), ("/b", 5), ("/c", -1), ("/d", 5), ("/e", 0), ("/f", Int.max)]
      .map { try transfer($0, priority: $1) }
    for other in waiting { #expect(!queues.admit(other)) }
    #expect(queues.takeNext() == nil)
    var order: [String] = []
    var running = first
    while true {
      queues.leave(running)
      guard let next = queues.takeNext() else { break }
      order.append(next.request.url.target)
      #expect(queues.takeNext() == nil)
      running = next
    }
    #expect(order == ["/f", "/b", "/d", "/a", "/e", "/c"])
    #expect(queues.waitingCount == 0)
    #expect(queues.admit(first))
  }

  @Test func `each origin has a limit of its own, and 0 is none`() throws {
    let queues = OriginQueues(limit: 2)
    for target in ["/1", "/2", ":81/1", ":81/2"] { #expect(queues.admit(try transfer(target))) }
    for target in ["/3", ":81/3"] { #expect(!queues.admit(try transfer(target))) }
    queues.leave(try transfer(":81/1"))
    #expect(next(queues) == ["/3"])
    #expect(queues.waitingCount == 1)
    let unlimited = OriginQueues(limit: 0)
    for _ in 0..<1000 { #expect(unlimited.admit(try transfer("/"))) }
  }

  @Test func `one that comes when a connection is free waits behind those that wait`() throws {
    let queues = OriginQueues(limit: 1)
    let first = try transfer("/1")
    #expect(queues.admit(first))
    #expect(!queues.admit(try transfer("/2")))
    queues.leave(first)
    #expect(!queues.admit(try transfer("/3")))
    #expect(next(queues) == ["/2"])
    queues.leave(first)
    #expect(next(queues) == ["/3"])
  }

  @Test func `what was cancelled gets no turn, and the last one leaves nothing behind`() throws {
    let queues = OriginQueues(limit: 1)
    let (first, second, third) = (try transfer("/1"), try transfer("/2"), try transfer("/3"))
    #expect(queues.admit(first))
    for other in [second, third] { #expect(!queues.admit(other)) }
    queues.withdraw(second)
    queues.withdraw(second)
    #expect(queues.waitingCount == 1)
    queues.leave(first)
    queues.withdraw(third)
    #expect(next(queues) == [])
    for _ in 1...2 {
      #expect(queues.admit(first))
      #expect(!queues.admit(second))
      #expect(queues.removeAll().count == 1)
    }
  }

  @Test func `an origin that speaks HTTP/2 lets all run`() throws {
    let queues = OriginQueues(limit: 1)
    let first = try transfer("/1")
    #expect(queues.admit(first))
    for target in ["/2", "/3"] { #expect(!queues.admit(try transfer(target))) }
    queues.noteSharedConnection(first)
    #expect(next(queues) == ["/2", "/3"])
    #expect(queues.admit(try transfer("/4")))
    // What is known of the server ends with its last transfer.
    for _ in 1...4 { queues.leave(first) }
    #expect(queues.admit(first))
    #expect(!queues.admit(try transfer("/2")))
  }

  @Test func `a transfer waits no longer than its whole timeout`() throws {
    let queues = OriginQueues(limit: 1)
    let first = try transfer("/1")
    #expect(queues.admit(first))
    let timeouts: [(String, Int?)] = [
      ("/2", 10), ("/3", nil), ("/4", 5), (":81/1", nil), (":81/2", 20),
    ]
    let waiting = try timeouts.map { target, seconds in
      try transfer(target, wholeTimeout: seconds.map { .seconds($0) })
    }
    let isAdmitted = waiting.map { queues.admit($0) }
    #expect(isAdmitted == [false, false, false, true, false])
    func take(at index: Int) throws -> ([String], ContinuousClock.Instant?) {
      let (expired, next) = queues.takeExpired(at: try #require(waiting[index].deadline))
      return (expired.map(\.request.url.target), next)
    }
    #expect(try take(at: 2) == (["/4"], waiting[0].deadline))
    #expect(try take(at: 0) == (["/2"], waiting[4].deadline))
    #expect(try take(at: 4) == (["/2"], nil))
    #expect(queues.waitingCount == 1)
    queues.leave(first)
    #expect(next(queues) == ["/3"])
  }

  @Test(.timeLimit(.minutes(5)))
  func `requests reach a server in the order of their priority`() async throws {
    let mayAnswer = DispatchSemaphore(value: 0)
    let origin = try LoopbackOrigin { request, connection in
      if request.target == "/first" { mayAnswer.wait() }
      connection.answer(request.target)
    }
    let other = try LoopbackOrigin { request, connection in connection.answer(request.target) }
    let transport = try CurlTransport(NetworkSetup(connectionsPerHost: 1, proxy: .none))
    func start(_ target: String, priority: Int = 0) throws -> TransferBody {
      try transport.start(
        HTTPRequest(url: try origin.address(target)), nil, TransportOptions(priority: priority))
    }
    let first = try start("/first")
    let bodies = try [("/low", -1), ("/a", 0), ("/gone", 9), ("/high", 1), ("/b", 0)]
      .map { try start($0, priority: $1) }
    bodies[2].cancel()
    // Commands are carried out in turn, so all of them are waiting when this one is answered.
    _ = try await transport.fetch(other.address())
    mayAnswer.signal()
    _ = try await first.transfer.head().get()
    _ = try await first.readAll()
    for body in [bodies[3], bodies[1], bodies[4], bodies[0]] { _ = try await body.readAll() }
    #expect(origin.requests.map(\.target) == ["/first", "/high", "/a", "/b", "/low"])
    #expect(origin.connections == 1)
  }

  @Test(.timeLimit(.minutes(1)))
  func `the whole timeout ends a wait for a connection`() async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
      connection.waitForClose()
    }
    let transport = try CurlTransport(NetworkSetup(connectionsPerHost: 1, proxy: .none))
    let url = try origin.address()
    let first = try await transport.send(
      HTTPRequest(url: url), options: TransportOptions(idleTimeout: nil))
    let error = await transport.failure(
      url, options: TransportOptions(wholeTimeout: .milliseconds(200)))
    #expect(error == TransportError(.timeout, url: url.string))
    #expect(origin.connections == 1)
    first.body.cancel()
  }

  @Test(.timeLimit(.minutes(5)))
  func `a transport that goes away ends what waits`() async throws {
    let origin = try LoopbackOrigin { _, connection in connection.waitForClose() }
    var transport: CurlTransport? = try CurlTransport(
      NetworkSetup(connectionsPerHost: 1, proxy: .none))
    let url = try origin.address()
    let bodies = try (0..<3).map { _ in
      try #require(transport).start(HTTPRequest(url: url), nil, patient)
    }
    transport?.loop.shutDown()
    transport = nil
    for body in bodies {
      #expect(await body.transfer.head().failureCode == .cancelled)
    }
  }
}

extension Result where Failure == TransportError {
  fileprivate var failureCode: TransportError.Code? {
    if case .failure(let error) = self { error.code } else { nil }
  }
}
