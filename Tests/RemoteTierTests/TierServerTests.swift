import CacheFormat
import ClientTesting
import Testing

@testable import RemoteTier

@Suite(.timeLimit(.minutes(1)))
struct TierServerTests {
  private func reason(
    _ server: TierServer, _ use: TierServer.Use, _ method: String
  ) async -> RemoteReason? {
    do throws(RemoteReason) {
      try await server.send(use, method, "ac/x").1.finish(nil)
      return nil
    } catch { return error }
  }

  @Test(
    arguments: [
      (200, "GET", nil), (404, "GET", nil), (410, "HEAD", nil), (304, "GET", nil),
      (409, "PUT", nil), (412, "PUT", nil), (206, "GET", .serverError), (203, "GET", .serverError),
      (301, "GET", .redirect), (399, "PUT", .redirect), (400, "PUT", .serverError),
      (401, "GET", .refused), (403, "PUT", .refused), (405, "PUT", .refused),
      (501, "PUT", .refused),
      (405, "GET", .serverError), (501, "HEAD", .serverError), (413, "PUT", .full),
      (507, "PUT", .full), (429, "GET", .serverError), (599, "GET", .serverError),
      (405, "MKCOL", nil), (403, "DELETE", nil), (501, "MKCOL", nil), (501, "DELETE", nil),
      (503, "MKCOL", .serverError),
    ] as [(Int, String, RemoteReason?)])
  func `a status is an answer, or has its reason`(
    status: Int, method: String, expected: RemoteReason?
  ) async throws {
    let server = try Machine.server(ScriptedTransport(.init("x", status: status)))
    #expect(await reason(server, method == "GET" ? .reading : .writing, method) == expected)
  }

  @Test func `a refused look-up switches all off, a refused upload only uploads`() async throws {
    let transport = ScriptedTransport(.init(status: 401))
    let notices = Notices()
    let server = try Machine.server(transport, notices: notices)
    #expect(await reason(server, .writing, "PUT") == .refused)
    #expect(await reason(server, .writing, "PUT") == .off)
    #expect(server.refusal(of: .reading) == nil && server.refusal(of: .writing) == .off)
    #expect(await reason(server, .reading, "GET") == .refused)
    #expect(await reason(server, .reading, "GET") == .off)
    #expect(transport.requests.count == 2)
    #expect(
      notices.all == [
        .readOnly(server: Machine.base, status: 401),
        .switchedOff(server: Machine.base, status: 401),
      ])
    #expect(server.statistics.reading == "off" && server.statistics.writing == "off")
  }

  @Test(
    arguments: [
      (0, 2, 10), (999_999, 2, 10), (1_000_000, 3, 11), (256 << 20, 270, 278),
      (.max, 2 + 18_446_744_073_709, 10 + 18_446_744_073_709),
    ] as [(UInt64, Int64, Int64)])
  func `the time limit of a whole answer grows with its body`(
    bytes: UInt64, reading: Int64, writing: Int64
  ) async throws {
    let transport = ScriptedTransport(.init())
    let server = try Machine.server(transport)
    _ = try await server.send(.reading, "GET", "x", bytes: bytes)
    _ = try await server.send(.writing, "PUT", "x", bytes: bytes)
    #expect(transport.options.map(\.wholeTimeout) == [.seconds(reading), .seconds(writing)])
    #expect(transport.options.map(\.idleTimeout) == [.milliseconds(500), .seconds(10)])
    #expect(transport.options.allSatisfy { $0.connectTimeout == .milliseconds(250) })
  }

  @Test func `each request names its server, and has its credentials`() async throws {
    let transport = ScriptedTransport(.init())
    let credentials = S3Credentials(region: "r", accessKey: "a", secretKey: "s")
    for access in [.open, .bearer(token: "t"), .s3(credentials)] as [RemoteServer.Access] {
      _ = try await Machine.server(transport, access: access).send(.writing, "PUT", "cas/ab")
    }
    #expect(transport.requests.allSatisfy { $0.url.string == Machine.base + "cas/ab" })
    let values = transport.requests.map { $0.fields.first(named: "Authorization")?.text ?? "" }
    #expect(values[0] == "" && values[1] == "Bearer t" && values[2].hasPrefix("AWS4-HMAC-SHA256 "))
  }

  @Test func `as many look-ups as are allowed run at once, and purges beside them`() async throws {
    let server = try Machine.server(ScriptedTransport(.init())) { $0.maximumLookUps = 2 }
    var running: [TierServer.Admission] = []
    for _ in 0..<2 { running.append(try await server.send(.reading, "GET", "ac/x").1) }
    #expect(await reason(server, .reading, "GET") == .busy)
    #expect(server.refusal(of: .reading) == nil, "it would be asked")
    let list = ObjectName.purgeList(of: "default").path
    running.append(try await server.send(.reading, "GET", list).1)
    #expect(await reason(server, .writing, "PUT") == nil)
    for admission in running { admission.finish(nil) }
    for _ in 0..<2 { _ = try await server.send(.reading, "GET", "ac/x") }
    #expect(await reason(server, .reading, "GET") == .busy)
  }

  @Test func `what fails three times is left alone, for look-ups and uploads separately`()
    async throws
  {
    let (transport, time) = (ScriptedTransport(.init(status: 500)), TestClock())
    let server = try Machine.server(transport, time: time)
    for _ in 0..<5 { _ = await reason(server, .writing, "PUT") }
    #expect(transport.requests.count == 3 && server.statistics.writing == "open")
    #expect(server.statistics.reading == "closed" && server.refusal(of: .reading) == nil)
    // One request is let through after a second, and one only.
    time.advance(bySeconds: 1.1)
    #expect(server.refusal(of: .writing) == nil)
    #expect(await reason(server, .writing, "PUT") == .serverError)
    #expect(await reason(server, .writing, "PUT") == .open)
    time.advance(bySeconds: 2.1)
    transport.answer(.init(status: 201))
    #expect(await reason(server, .writing, "PUT") == nil)
    #expect(server.statistics.writing == "closed" && transport.requests.count == 5)
  }

  @Test func `a cancelled request is no failure, and ends a probe`() async throws {
    let time = TestClock()
    let transport = ScriptedTransport { .failure(TransportError(.cancelled, url: $0.url.string)) }
    let server = try Machine.server(transport, time: time)
    for _ in 0..<5 { #expect(await reason(server, .writing, "PUT") == .cancelled) }
    #expect(server.statistics.writing == "closed")
    transport.answer(.init(status: 500))
    for _ in 0..<3 { _ = await reason(server, .writing, "PUT") }
    time.advance(bySeconds: 1.1)
    transport.set { .failure(TransportError(.cancelled, url: $0.url.string)) }
    #expect(await reason(server, .writing, "PUT") == .cancelled)
    transport.answer(.init())
    #expect(await reason(server, .writing, "PUT") == nil, "the next one is the probe")
  }
}
