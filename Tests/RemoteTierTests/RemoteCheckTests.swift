import CacheFormat
import ClientTesting
import Synchronization
import Testing

@testable import RemoteTier

@Suite(.timeLimit(.minutes(1)))
struct RemoteCheckTests {
  private func check(
    _ server: any HTTPTransport, mode: RemoteMode = .both
  ) async throws -> RemoteCheckReport {
    let options = try RemoteCacheOptions(
      servers: [try RemoteServer(Machine.base)], secret: Machine.secret, mode: mode)
    let reports = await RemoteCheck.run(options, transport: server)
    #expect(reports.map(\.url) == [Machine.base])
    return reports[0]
  }

  private func states(_ report: RemoteCheckReport) -> [String: RemoteCheckReport.Property.State] {
    Dictionary(uniqueKeysWithValues: report.properties.map { ($0.name, $0.state) })
  }

  @Test func `a server that does all is good, and is left as it was`() async throws {
    let server = MemoryServer()
    let report = try await check(server)
    #expect(report.isReached && report.isUsable)
    #expect(report.properties.allSatisfy { $0.state == .good }, "\(report.properties)")
    #expect(
      report.properties.map(\.name) == [
        "missing", "purges", "put", "get", "if-none-match", "document", "etag", "if-match", "size",
      ])
    #expect(server.objects.isEmpty)
  }

  @Test func `a server without conditions and tags can be used`() async throws {
    let server = MemoryServer(isBazel: true, hasTags: false)
    let report = try await check(server)
    #expect(report.isUsable)
    let found = states(report)
    #expect(found["if-none-match"] == .note && found["etag"] == .note && found["if-match"] == nil)
    #expect(server.objects.isEmpty)
  }

  @Test func `with the mode read nothing is written`() async throws {
    let server = MemoryServer()
    let report = try await check(server, mode: .read)
    #expect(report.isUsable && states(report) == ["missing": .good, "purges": .good, "put": .note])
    #expect(server.requests.allSatisfy { $0.method == .get })
  }

  /// A server that is not as it should be, and the property that shows it.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let property: String
    let fault: @Sendable (HTTPRequest) -> MemoryServer.Fault?

    init(
      _ name: String, _ property: String,
      _ fault: @escaping @Sendable (HTTPRequest) -> MemoryServer.Fault?
    ) {
      (testDescription, self.property, self.fault) = (name, property, fault)
    }
  }

  private static func has(_ request: HTTPRequest, _ method: String, _ folder: String) -> Bool {
    request.method.rawValue == method && request.url.target.contains("/\(folder)/")
  }

  static let cases = [
    Case("a log-in page for all", "missing") { _ in .status(200) },
    Case("403 for what is missing", "missing") { _ in .status(403) },
    Case("500 for all", "missing") { _ in .status(500) },
    Case("no bodies", "put") { has($0, "PUT", "cas") ? .status(404) : nil },
    Case("bodies that it forgets", "head") { has($0, "PUT", "cas") ? .forget : nil },
    Case("other bytes", "get") {
      has($0, "GET", "cas") ? .change { [$0.first.map { $0 ^ 1 } ?? 0] + $0.dropFirst() } : nil
    },
    Case("bodies that break", "put") { has($0, "GET", "cas") ? .cut(100) : nil },
    Case("bodies that may not be read", "put") { has($0, "GET", "cas") ? .status(403) : nil },
    Case("documents that may not be put", "document") { has($0, "PUT", "ac") ? .status(403) : nil },
    Case("documents that it does not have", "document") { has($0, "PUT", "ac") ? .forget : nil },
    Case("other documents", "document") {
      has($0, "GET", "ac") ? .change { $0.isEmpty ? [] : Array($0.dropLast(20)) } : nil
    },
  ]

  @Test(arguments: cases)
  func `what is wrong is named, and nothing that was written stays`(_ wrong: Case) async throws {
    let server = MemoryServer()
    server.setFault(wrong.fault)
    let report = try await check(server)
    #expect(!report.isUsable)
    #expect(report.properties.filter { $0.state == .bad }.map(\.name) == [wrong.property])
    #expect(server.objects.isEmpty, "\(server.log)")
  }

  @Test func `a purge list that was signed with another secret is told`() async throws {
    let server = MemoryServer()
    try await Machine(server).tier.purge(.tag("x"))
    let list = "cache.test/team/" + ObjectName.purgeList(of: "default").path
    let count = server.objects.count
    #expect(try await check(server).properties.first { $0.name == "purges" }?.state == .good)
    server.state.withLock { $0.objects[list]?.bytes.reverse() }
    let report = try await check(server)
    #expect(report.isReached && !report.isUsable)
    #expect(report.properties.last?.name == "purges" && report.properties.last?.state == .bad)
    #expect(server.objects.count == count)
  }

  @Test func `a server that takes no long bodies can be used`() async throws {
    let server = MemoryServer()
    let transport = LimitedServer(server: server)
    let report = try await check(transport)
    #expect(report.isUsable)
    let size = try #require(report.properties.first { $0.name == "size" })
    #expect(size.state == .note && size.detail.contains("client_max_body_size"))
    #expect(server.objects.isEmpty)
  }

  /// A server that takes 1 MiB.
  private struct LimitedServer: HTTPTransport {
    let server: MemoryServer

    func send(
      _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
      onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
    ) async throws(TransportError) -> TransportResponse {
      var isLong = false
      if case .bytes(let bytes)? = body { isLong = bytes.count > 1 << 20 }
      guard isLong else {
        return try await server.send(request, body: body, options: options, onInterim: onInterim)
      }
      return try await ScriptedTransport(.init(status: 413)).send(
        request, body: nil, options: options, onInterim: onInterim)
    }
  }

  @Test(arguments: [TransportError.Code.cannotConnect, .timeout, .certificate, .protocolViolation])
  func `a server that does not answer is not reached`(code: TransportError.Code) async throws {
    let server = MemoryServer()
    server.setFault { _ in .failure(code) }
    let report = try await check(server)
    #expect(!report.isReached && !report.isUsable && report.properties.count == 1)
    #expect(server.requests.count == 1)
  }
}
