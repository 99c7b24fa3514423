import CacheSystem
import ClientTesting
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct SharedBodyTests {
  private typealias Answer = ScriptedTransport.Answer
  private let url = request().url.string

  private var cancelled: ClientError {
    ClientError(.transport(TransportError(.cancelled, url: url)), url: url)
  }

  private func rest(of body: ResponseBody) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await body.next() {
      if piece.isEmpty { Issue.record("a piece is empty") }
      bytes += piece
    }
    return bytes
  }

  @Test(
    arguments: [
      [], [1], [65_535], [65_536], [65_537], [65_536, 1], [40_000, 40_000, 40_000],
      [300_000, 1, 262_144, 500_000], Array(repeating: 7_777, count: 200),
    ])
  func `a body of any size comes back from the store as it came from the network`(sizes: [Int])
    async throws
  {
    let body = pieces(sizes)
    let sandbox = try ClientSandbox(Answer(body, fields: fresh()))
    let whole = Array(body.joined())
    #expect(try await sandbox.client.data(for: request()).bytes == whole)
    let second = try await sandbox.client.data(for: request())
    #expect(second.bytes == whole)
    #expect(second.response.source == .disk)
    #expect(second.response.entry?.length == UInt64(whole.count))
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `the pieces are asked for one at a time, as the reader goes`() async throws {
    let sandbox = try ClientSandbox(Answer(pieces([100_000, 100_000, 100_000]), fields: fresh()))
    let response = try await sandbox.client.fetch(request())
    let body = try #require(sandbox.transport.bodies.first)
    #expect(body.taken == 0)
    for count in 1...3 {
      #expect(try await response.body.next()?.count == 100_000)
      #expect(body.taken == count)
      #expect(response.body.storing.name == "pending")
    }
    #expect(try await response.body.next() == nil)
    #expect(response.body.storing.name == "stored")
    #expect(try await response.body.next() == nil)
  }

  @Test(arguments: [[10], [100_000], [70_000, 10]], [true, false])
  func `a request is over before its readers see the end`(sizes: [Int], isCut: Bool) async throws {
    var answer = Answer(pieces(sizes), fields: fresh())
    if isCut { answer.end = .truncatedBody }
    let sandbox = try ClientSandbox(answer)
    for _ in 0..<100 {
      let response = try await sandbox.client.fetch(
        request("/\(UInt64.random(in: 0...UInt64.max))"))
      while (try? await response.body.next())?.isEmpty == false {}
      #expect(sandbox.client.flights.flights.withLock { $0.isEmpty })
    }
  }

  @Test(arguments: [[], [10], [100_000], [100_000, 10]])
  func `a body that is cut short is never stored`(sizes: [Int]) async throws {
    var answer = Answer(pieces(sizes), fields: fresh())
    answer.end = .truncatedBody
    let sandbox = try ClientSandbox(answer)
    let response = try await sandbox.client.fetch(request())
    for size in sizes { #expect(try await response.body.next()?.count == size) }
    let expected = ClientError(.transport(TransportError(.truncatedBody, url: url)), url: url)
    for _ in 0..<2 {
      let error = await #expect(throws: ClientError.self) { try await response.body.next() }
      #expect(error == expected)
    }
    #expect(response.body.storing.name == "incomplete")
    #expect(sandbox.store.statistics.entries == 0)
    #expect(sandbox.staged.isEmpty)
  }

  @Test func `a body of a known length is stored before its last piece is given`() async throws {
    for sizes in [[10], [70_000], [70_000, 10, 70_000]] {
      let body = pieces(sizes)
      var answer = Answer(body, fields: fresh())
      answer.fields.append(HTTPField("Content-Length", "\(sizes.reduce(0, +))"))
      let sandbox = try ClientSandbox(answer)
      let response = try await sandbox.client.fetch(request())
      for piece in body {
        #expect(response.body.storing.name == "pending")
        let next = try await response.body.next()
        #expect(next?.count == piece.count)
      }
      #expect(response.body.storing.name == "stored")
      #expect(try await sandbox.client.fetch(request()).reason == nil)
      #expect(try await response.body.next() == nil)
    }
  }

  @Test func `a body that goes on beyond its length is an error, and not stored`() async throws {
    var answer = Answer(pieces([10, 10]), fields: fresh())
    answer.fields.append(HTTPField("Content-Length", "10"))
    let sandbox = try ClientSandbox(answer)
    let response = try await sandbox.client.fetch(request())
    let error = await #expect(throws: ClientError.self) { try await rest(of: response.body) }
    #expect(
      error == ClientError(.transport(TransportError(.protocolViolation, url: url)), url: url))
    #expect(response.body.storing.name == "incomplete")
    #expect(sandbox.store.statistics.entries == 0)
  }

  @Test func `a part that is shorter than it says is never stored`() async throws {
    var answer = Answer(pieces([9]), fields: fresh(tag: "1"))
    answer.status = 206
    answer.fields.append(HTTPField("Content-Range", "bytes 0-9/20"))
    let sandbox = try ClientSandbox(answer)
    let asked = request("/a", [HTTPField("Range", "bytes=0-9")])
    let response = try await sandbox.client.fetch(asked)
    #expect(try await rest(of: response.body).count == 9)
    #expect(response.body.storing.name == "incomplete")
    #expect(sandbox.store.statistics.entries == 0)
  }

  @Test func `a body that nobody reads to its end is not stored, and leaves nothing`() async throws
  {
    let sandbox = try ClientSandbox(Answer(pieces([100_000, 100_000]), fields: fresh()))
    var response: ClientResponse? = try await sandbox.client.fetch(request())
    #expect(try await response?.body.next() != nil)
    response = nil
    await eventually { sandbox.client.flights.flights.withLock { $0.isEmpty } }
    #expect(sandbox.transport.bodies.first?.isCancelled == true)
    #expect(sandbox.store.statistics.entries == 0)
    #expect(sandbox.staged.isEmpty)
  }

  @Test func `a cancelled body ends its transfer at once, also while the network is silent`()
    async throws
  {
    var answer = Answer(pieces([100_000, 100_000]), fields: fresh())
    answer.gates = [1: Gate()]
    let sandbox = try ClientSandbox(answer)
    let response = try await sandbox.client.fetch(request())
    #expect(try await response.body.next() != nil)
    let reading = Task { try await response.body.next() }
    await eventually { sandbox.transport.bodies.first?.isWaiting == true }
    response.body.cancel()
    #expect(sandbox.transport.bodies.first?.isCancelled == true)
    let error = await #expect(throws: ClientError.self) { try await reading.value }
    #expect(error == cancelled)
    await eventually { sandbox.client.flights.flights.withLock { $0.isEmpty } }
    #expect(response.body.storing.name == "incomplete")
    #expect(sandbox.staged.isEmpty)
  }

  @Test func `a task that is cancelled while it waits for a piece leaves at once, and alone`()
    async throws
  {
    let gate = Gate()
    var answer = Answer(pieces([10, 10]), fields: fresh())
    answer.gates = [1: gate]
    let sandbox = try ClientSandbox(answer)
    let first = try await sandbox.client.fetch(request())
    let second = try await sandbox.client.fetch(request())
    #expect(try await second.body.next()?.count == 10)
    let leaving = Task { try await rest(of: first.body) }
    await eventually { sandbox.transport.bodies.first?.isWaiting == true }
    leaving.cancel()
    let error = await #expect(throws: ClientError.self) { try await leaving.value }
    #expect(error == cancelled)
    first.body.cancel()
    gate.open()
    #expect(try await rest(of: second.body).count == 10)
    #expect(second.body.storing.name == "stored")
    let after = await #expect(throws: ClientError.self) { try await first.body.next() }
    #expect(after == cancelled)
  }

  @Test func `readers at different speeds each get all bytes, and the slow ones hold up nobody`()
    async throws
  {
    let body = pieces(Array(repeating: 30_011, count: 100))
    let sandbox = try ClientSandbox(Answer(body, fields: fresh()))
    let slow = try await sandbox.client.fetch(request())
    let slower = try await sandbox.client.fetch(request())
    let fast = try await sandbox.client.fetch(request())
    let whole = Array(body.joined())
    #expect(try await slow.body.next() == body[0])
    #expect(try await rest(of: fast.body) == whole)
    #expect(fast.body.storing.name == "stored")
    #expect(try await slower.body.next() != nil)
    #expect(try await rest(of: slow.body) == Array(whole.dropFirst(30_011)))
    #expect(try await rest(of: slower.body).count == whole.count - FileSource.pieceBytes)
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `who comes late joins the body that is coming, from its first byte`() async throws {
    for count in [3, 60] {
      let gate = Gate()
      let body = pieces(Array(repeating: 10_007, count: count))
      var answer = Answer(body, fields: fresh())
      answer.gates = [count - 1: gate]
      let sandbox = try ClientSandbox(answer)
      let first = try await sandbox.client.fetch(request())
      for number in 0..<count - 1 { #expect(try await first.body.next() == body[number]) }
      let late = try await sandbox.client.fetch(request())
      #expect(late.cacheStatus.isCollapsed)
      gate.open()
      #expect(try await rest(of: late.body) == Array(body.joined()))
      #expect(try await first.body.next() == body[count - 1])
      #expect(sandbox.transport.requests.count == 1)
    }
  }

  @Test func `no more than 64 KiB of what is kept is in memory`() async throws {
    let body = pieces(Array(repeating: 20_000, count: 50))
    let sandbox = try ClientSandbox(Answer(body, fields: fresh()))
    let response = try await sandbox.client.fetch(request())
    let key = sandbox.client.cache.key(of: request())
    let flight = try #require(sandbox.client.flights.flights.withLock { $0[key]?.values.first })
    guard case .shared(_, let shared) = flight.outcome.valueNow else {
      Issue.record("the body is not shared")
      return
    }
    var inFile = 0
    while try await response.body.next() != nil {
      shared.state.withLock { state in
        switch state.kept {
        case .memory(let bytes): #expect(bytes.count <= ResponseCache.smallBody)
        case .file: inFile += 1
        }
        #expect(state.last.piece.count == 20_000)
      }
    }
    #expect(inFile == 47)
  }

  @Test func `a store that refuses a body does not touch the answer, and says so`() async throws {
    for sizes in [[100_000], [30_000, 50_000, 100_000]] {
      let transport = ScriptedTransport(Answer(pieces(sizes), fields: fresh()))
      let limits = Options(limits: Limits(entryBytes: 90_000))
      let sandbox = try ClientSandbox(transport, store: limits)
      let response = try await sandbox.client.fetch(request())
      #expect(try await rest(of: response.body) == Array(pieces(sizes).joined()))
      #expect(response.body.storing.name == "failed entryTooLarge")
      #expect(sandbox.store.statistics.entries == 0)
    }
  }

  @Test func `when the disk is full all who share a body get all of it`() async throws {
    for sizes in [[1000], [70_000], Array(repeating: 20_000, count: 30)] {
      let disk = FaultyFiles()
      let gate = Gate()
      var answer = Answer(pieces(sizes), fields: fresh())
      answer.headGate = gate
      let options = Options(evictsOnFullDisk: false, fileSystem: disk)
      let sandbox = try ClientSandbox(ScriptedTransport(answer), store: options)
      let tasks = (0..<50).map { _ in Task { try await sandbox.client.fetch(request()) } }
      gate.open()
      var responses: [ClientResponse] = []
      for task in tasks { responses.append(try await task.value) }
      disk.faults.setFull(true)
      let whole = Array(pieces(sizes).joined())
      await withTaskGroup(of: Bool.self) { group in
        for response in responses {
          group.addTask { (try? await rest(of: response.body)) == whole }
        }
        for await isRight in group { #expect(isRight) }
      }
      #expect(responses[0].body.storing.name == "failed noSpace")
      #expect(sandbox.transport.requests.count == 1)
      disk.faults.setFull(false)
      #expect(sandbox.store.statistics.entries == 0)
      #expect(try await sandbox.client.data(for: request()).response.source == .network)
      #expect(try await sandbox.client.data(for: request()).response.source == .disk)
    }
  }

  @Test func `once the store has failed nobody joins what is gone, and who leaves holds up nobody`()
    async throws
  {
    let disk = FaultyFiles()
    let options = Options(evictsOnFullDisk: false, fileSystem: disk)
    let body = pieces(Array(repeating: 50_000, count: 5))
    let sandbox = try ClientSandbox(
      ScriptedTransport(Answer(body, fields: fresh())), store: options)
    let fast = try await sandbox.client.fetch(request())
    var slow: ClientResponse? = try await sandbox.client.fetch(request())
    disk.faults.setFull(true)
    for number in 0..<2 { #expect(try await fast.body.next() == body[number]) }
    #expect(fast.body.storing.name == "failed noSpace")
    let late = try await sandbox.client.fetch(request())
    #expect(!late.cacheStatus.isCollapsed)
    #expect(try await slow?.body.next() == body[0])
    let waiting = Task { try await rest(of: fast.body) }
    slow = nil
    #expect(try await waiting.value == Array(body[2...].joined()))
    #expect(try await rest(of: late.body) == Array(body.joined()))
    #expect(sandbox.transport.requests.count == 2)
  }

  @Test func `a store that is closed or for reading only leaves the answers as they are`()
    async throws
  {
    let sandbox = try ClientSandbox(Answer(pieces([100_000]), fields: fresh()))
    let response = try await sandbox.client.fetch(request())
    sandbox.store.close()
    #expect(try await rest(of: response.body).count == 100_000)
    #expect(response.body.storing.name == "failed closed")
    let store = try Store(at: sandbox.path, options: Options(isReadOnly: true))
    let client = CachingClient(store: store, transport: sandbox.transport, clock: sandbox.clock)
    for _ in 0..<2 {
      let answer = try await client.fetch(request())
      #expect(try await rest(of: answer.body).count == 100_000)
      #expect(answer.body.storing.name == "failed readOnly" && !answer.cacheStatus.isStored)
    }
  }
}
