import CacheFormat
import CacheStore
import HTTPSemantics
import HTTPTransport
import Testing

@testable import CachingClient

struct CachingClientTests {
  private let url: NormalizedURL
  private let temporary: TemporaryStore

  init() throws {
    url = try NormalizedURL("http://example.com/a?b")
    temporary = try TemporaryStore()
  }

  private func client(_ transport: ScriptedTransport) -> CachingClient {
    CachingClient(store: temporary.store, transport: transport)
  }

  private func error(
    _ client: CachingClient, _ request: HTTPRequest, _ policy: FetchPolicy = .useStored
  ) async -> ClientError? {
    do {
      _ = try await client.data(for: request, policy: policy)
      return nil
    } catch {
      return error
    }
  }

  @Test("the first fetch asks the network, the second one the store")
  func networkThenStore() async throws {
    let fields: HTTPFields = [
      HTTPField("Content-Type", "text/plain"), HTTPField(name: "X-B", value: [0xFF]),
      HTTPField("X-A", "1"), HTTPField("X-A", "2"), HTTPField("Set-Cookie", "secret"),
    ]
    let transport = ScriptedTransport(.init("hello", fields: fields))
    let client = client(transport)

    let first = try await client.data(for: url)
    #expect(first.bytes == Array("hello".utf8))
    #expect(first.response.source == .network)
    #expect(first.response.missReason == .absent)
    #expect(first.response.entry == nil)
    #expect(first.response.head == HTTPResponseHead(status: 200, fields: fields))
    guard case .stored(let info) = first.response.body.storing else {
      Issue.record("\(first.response.body.storing)")
      return
    }
    #expect(info.key == "GET http://example.com/a?b")
    #expect(info.length == 5)

    let second = try await client.data(for: NormalizedURL("HTTP://Example.com:80/x/../a?b#c"))
    #expect(second.bytes == Array("hello".utf8))
    #expect(second.response.source == .disk)
    #expect(second.response.missReason == nil)
    #expect(second.response.head.status == 200)
    #expect(second.response.head.fields == HTTPFields(fields.dropLast()))
    #expect(second.response.entry?.digest == info.digest)
    #expect(transport.requests.count == 1)
  }

  @Test("times and the URL that answered are kept")
  func kept() async throws {
    var answer = ScriptedTransport.Answer("x")
    answer.url = try NormalizedURL("http://example.com/moved")
    let client = CachingClient(
      store: temporary.store, transport: ScriptedTransport(answer),
      clock: FixedClock(nanoseconds: 1_234_567_890_123_456_789))
    let times = ResponseTimes(
      request: Timestamp(nanoseconds: 1_234_567_890_123_456_789),
      response: Timestamp(nanoseconds: 1_234_567_890_123_456_789))
    for source in [ResponseSource.network, .disk] {
      let response = try await client.data(for: url).response
      #expect(response.source == source)
      #expect(response.url == answer.url)
      #expect(response.times == times)
    }
  }

  @Test("an answer in the memory tier says so")
  func memory() async throws {
    let withMemory = try TemporaryStore(memoryBytes: 1 << 20)
    let client = CachingClient(
      store: withMemory.store, transport: ScriptedTransport(.init("x")))
    for _ in 0..<2 { _ = try await client.data(for: url) }
    #expect(try await client.data(for: url).response.source == .memory)
  }

  @Test("refresh asks the network and replaces what is stored")
  func refresh() async throws {
    let transport = ScriptedTransport(.init("old"))
    let client = client(transport)
    _ = try await client.data(for: url)
    transport.answer(.init("new"))
    #expect(try await client.data(for: url).bytes == Array("old".utf8))
    let fresh = try await client.data(for: url, policy: .refresh)
    #expect(fresh.bytes == Array("new".utf8))
    #expect(fresh.response.missReason == .refresh)
    #expect(try await client.data(for: url, policy: .offline).bytes == Array("new".utf8))
  }

  @Test("offline gives what is stored, and never asks the network")
  func offline() async throws {
    let transport = ScriptedTransport(.init("x"))
    let client = client(transport)
    #expect(
      await error(client, HTTPRequest(url: url), .offline)
        == ClientError(.notStored(.absent), url: url.string))
    #expect(transport.requests.isEmpty)
    _ = try await client.data(for: url)
    transport.disconnect()
    #expect(try await client.data(for: url, policy: .offline).bytes == Array("x".utf8))
    let post = HTTPRequest(method: HTTPMethod(rawValue: "POST"), url: url)
    #expect(
      await error(client, post, .offline)
        == ClientError(.notStored(.bypassed(.method("POST"))), url: url.string))
    #expect(transport.requests.count == 1)
  }

  @Test("an offline miss says why and what to do")
  func offlineDescription() async throws {
    let error = await error(client(ScriptedTransport(.init())), HTTPRequest(url: url), .offline)
    #expect(
      error?.description == "http://example.com/a?b: cannot be answered offline, as nothing is "
        + "stored for it; fetch it once while there is a network")
  }

  @Test("a failing network is told, and a stored answer is not touched by it")
  func networkFails() async throws {
    let transport = ScriptedTransport(.init("x"))
    let client = client(transport)
    _ = try await client.data(for: url)
    transport.disconnect()
    let expected = ClientError(
      .transport(TransportError(.cannotResolve, url: url.string)), url: url.string)
    #expect(await error(client, HTTPRequest(url: url), .refresh) == expected)
    #expect(try await client.data(for: url).bytes == Array("x".utf8))
  }

  @Test("what is not stored says why, and the caller gets it all the same")
  func notStored() async throws {
    let cases: [(ScriptedTransport.Answer, HTTPFields, NotStoredReason)] = [
      (.init("gone", status: 404), [], .status(404)),
      (.init("x"), [HTTPField("Authorization", "a")], .bypassed(.field("Authorization"))),
      (.init("x", fields: [HTTPField("Vary", "*")]), [], .varies(field: "*")),
    ]
    for (answer, fields, reason) in cases {
      let request = HTTPRequest(url: url, fields: fields)
      let result = try await client(ScriptedTransport(answer)).data(for: request)
      #expect(result.bytes == answer.pieces[0])
      guard case .notStored(reason) = result.response.body.storing else {
        Issue.record("\(result.response.body.storing)")
        continue
      }
      #expect(!temporary.store.contains("GET http://example.com/a?b"))
    }
  }

  @Test("a stored answer is not used for a request that could have another one")
  func otherVariant() async throws {
    let transport = ScriptedTransport(.init("x", fields: [HTTPField("Vary", "Accept")]))
    let client = client(transport)
    _ = try await client.data(for: url)
    let request = HTTPRequest(url: url, fields: [HTTPField("Accept", "text/html")])
    let response = try await client.data(for: request).response
    #expect(response.missReason == .otherVariant(field: "Accept"))
    guard case .notStored(.varies(field: "Accept")) = response.body.storing else {
      Issue.record("\(response.body.storing)")
      return
    }
    #expect(try await client.data(for: url).response.source == .disk)
  }

  @Test("an entry without a status is no answer")
  func foreignEntry() async throws {
    try temporary.store.put(Array("mine".utf8), for: "GET http://example.com/a?b")
    let result = try await client(ScriptedTransport(.init("x"))).data(for: url)
    #expect(result.bytes == Array("x".utf8))
    #expect(result.response.missReason == .notAnAnswer)
  }

  @Test("a decoded body is stored without the fields of the coded one, and always asked for")
  func decoded() async throws {
    var answer = ScriptedTransport.Answer(
      "text", fields: [HTTPField("Content-Encoding", "gzip"), HTTPField("Content-Length", "9")])
    answer.isDecoded = true
    var options = TransportOptions()
    options.rawBody = true
    let transport = ScriptedTransport(answer)
    let client = CachingClient(
      store: temporary.store, transport: transport, options: options)
    #expect(try await client.data(for: url).response.head.fields.isEmpty)
    #expect(try await client.data(for: url).response.head.fields.isEmpty)
    #expect(transport.options.map(\.rawBody) == [false])
  }

  @Test("two hundred fetches of different URLs at once each get and keep their own answer")
  func manyAtOnce() async throws {
    let transport = ScriptedTransport { .success(.init($0.url.string)) }
    let client = client(transport)
    for source in [ResponseSource.network, .disk] {
      let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          group.addTask {
            let url = try NormalizedURL("http://h/\(number)")
            let result = try await client.data(for: url)
            return result.bytes != Array(url.string.utf8) || result.response.source != source
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(wrong == 0)
    }
    #expect(transport.requests.count == 200)
  }
}
