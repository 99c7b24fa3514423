import CacheFormat
import CacheStore
import HTTPSemantics
import HTTPTransport
import Testing

@testable import CachingClient

struct ResponseBodyTests {
  private let url: NormalizedURL
  private let temporary: TemporaryStore

  init() throws {
    url = try NormalizedURL("http://example.com/large")
    temporary = try TemporaryStore()
  }

  private func client(_ transport: ScriptedTransport) -> CachingClient {
    CachingClient(store: temporary.store, transport: transport)
  }

  /// Answers with pieces of these sizes, all bytes counted through.
  private func answer(_ sizes: [Int], end: TransportError.Code? = nil) -> ScriptedTransport.Answer {
    var answer = ScriptedTransport.Answer()
    var position = 0
    answer.pieces = sizes.map { size in
      defer { position += size }
      return (position..<position + size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    }
    answer.end = end
    return answer
  }

  @Test(
    "a body of any size comes back from the store as it came from the network",
    arguments: [
      [], [1], [65_535], [65_536], [65_536, 1], [40_000, 40_000, 40_000],
      [300_000, 1, 262_144, 500_000], Array(repeating: 7_777, count: 200),
    ])
  func sizes(sizes: [Int]) async throws {
    let answer = answer(sizes)
    let transport = ScriptedTransport(answer)
    let client = client(transport)
    let whole = Array(answer.pieces.joined())
    #expect(try await client.data(for: url).bytes == whole)
    let second = try await client.data(for: url)
    #expect(second.bytes == whole)
    #expect(second.response.source == .disk)
    #expect(second.response.entry?.length == UInt64(whole.count))
    #expect(transport.requests.count == 1)
  }

  @Test("the pieces are asked for one at a time, as the reader goes")
  func pull() async throws {
    let transport = ScriptedTransport(answer([100_000, 100_000, 100_000]))
    let response = try await client(transport).fetch(url)
    let body = try #require(transport.bodies.first)
    #expect(body.taken == 0)
    var count = 0
    for try await piece in response.body {
      count += 1
      #expect(piece.count == 100_000)
      #expect(body.taken == count)
      guard case .pending = response.body.storing else {
        Issue.record("\(response.body.storing)")
        return
      }
    }
    #expect(count == 3)
    guard case .stored = response.body.storing else {
      Issue.record("\(response.body.storing)")
      return
    }
  }

  @Test("a body that is cut short is never stored", arguments: [[10], [100_000], [100_000, 10]])
  func cutShort(sizes: [Int]) async throws {
    let client = client(ScriptedTransport(answer(sizes, end: .truncatedBody)))
    let response = try await client.fetch(url)
    for size in sizes { #expect(try await response.body.next()?.count == size) }
    let expected = ClientError(
      .transport(TransportError(.truncatedBody, url: url.string)), url: url.string)
    for _ in 0..<2 {
      let error = await #expect(throws: ClientError.self) { try await response.body.next() }
      #expect(error == expected)
    }
    guard case .notStored(.incomplete) = response.body.storing else {
      Issue.record("\(response.body.storing)")
      return
    }
    #expect(temporary.store.statistics.entries == 0)
    #expect(temporary.names(in: "staging").filter { $0.contains("/") }.isEmpty)
  }

  @Test("a body that is not read to its end is not stored, and leaves nothing")
  func abandoned() async throws {
    let client = client(ScriptedTransport(answer([100_000, 100_000])))
    var response: ClientResponse? = try await client.fetch(url)
    #expect(try await response?.body.next() != nil)
    response = nil
    #expect(temporary.store.statistics.entries == 0)
    #expect(temporary.names(in: "staging").filter { $0.contains("/") }.isEmpty)
  }

  @Test("a cancelled body ends its transfer and is not stored")
  func cancelled() async throws {
    let transport = ScriptedTransport(answer([100_000, 100_000]))
    let response = try await client(transport).fetch(url)
    #expect(try await response.body.next() != nil)
    response.body.cancel()
    #expect(transport.bodies.first?.isCancelled == true)
    let error = await #expect(throws: ClientError.self) { try await response.body.next() }
    #expect(
      error
        == ClientError(.transport(TransportError(.cancelled, url: url.string)), url: url.string))
    #expect(temporary.store.statistics.entries == 0)
  }

  @Test("a body longer than the caller's limit is an error and ends the transfer")
  func limit() async throws {
    let transport = ScriptedTransport(answer([100, 100]))
    let client = client(transport)
    let error = await #expect(throws: ClientError.self) {
      try await client.data(for: url, limit: 199)
    }
    #expect(error == ClientError(.tooLarge(limit: 199), url: url.string))
    #expect(transport.bodies.first?.isCancelled == true)
    #expect(try await client.data(for: url, limit: 200).bytes.count == 200)
  }

  @Test("a damaged body is never given as whole: it is fetched again, or offline an error")
  func damaged() async throws {
    for sizes in [[1_000], [700_000]] {
      let answer = answer(sizes)
      let transport = ScriptedTransport(answer)
      let client = client(transport)
      _ = try await client.data(for: url, policy: .refresh)
      #expect(try temporary.damageBodies() >= 1)
      let error = await #expect(throws: ClientError.self) {
        try await client.data(for: url, policy: .offline)
      }
      switch error?.cause {
      case .store(let error): #expect(error.code == .damaged)
      default: #expect(error?.cause == .notStored(.damaged))
      }
      let again = try await client.data(for: url)
      #expect(again.bytes == Array(answer.pieces.joined()))
      #expect(again.response.source == .network)
      #expect(try await client.data(for: url, policy: .offline).bytes == again.bytes)
    }
  }

  @Test("a store that fails does not touch the answer, and says so")
  func storeFails() async throws {
    let client = client(ScriptedTransport(answer([100_000, 100_000])))
    let response = try await client.fetch(url)
    temporary.store.close()
    var count = 0
    for try await piece in response.body { count += piece.count }
    #expect(count == 200_000)
    guard case .notStored(.failed(let error)) = response.body.storing else {
      Issue.record("\(response.body.storing)")
      return
    }
    #expect(error.code == .closed)
  }
}
