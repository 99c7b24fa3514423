import ClientTesting
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2))) struct RetryPolicyTests {
  private let sandbox = DownloadSandbox()
  private let big = content(1_000_000)

  @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
  func `a status that may pass is tried again`(status: Int) async throws {
    let server = FileServer(big, faults: [.init(status: status), .init(status: status)])
    _ = try await sandbox.downloader(server, maximumRetries: 2).download(sandbox.asked())
    #expect(server.requests.count == 3)
    #expect(sandbox.bytes() == big)
  }

  @Test(arguments: [204, 206, 301, 304, 400, 401, 403, 404, 410, 416, 501])
  func `a status that stays is reported at once, and nothing is written`(status: Int) async throws {
    let server = FileServer(big, faults: [.init(status: status)])
    let cause = await sandbox.failure(
      sandbox.downloader(server, maximumRetries: 5), sandbox.asked())
    #expect(cause == .status(status))
    #expect(sandbox.names == [])
  }

  @Test func `bytes that came count as success: the tries begin anew`() async throws {
    let cut = FileServer.Fault(cut: 65_536)
    let server = FileServer(big, faults: Array(repeating: cut, count: 12))
    _ = try await sandbox.downloader(server, maximumRetries: 1).download(sandbox.asked())
    #expect(server.requests.count == 13)
    #expect(sandbox.bytes() == big)
    #expect(server.sent == 1_000_000)
  }

  @Test(arguments: [
    TransportError.Code.tls, .certificate, .invalidRequest, .protocolViolation, .headTooLarge,
    .failed,
  ])
  func `what no retry mends is not tried again`(code: TransportError.Code) async throws {
    let server = FileServer(big, faults: [.init(error: code)])
    let cause = await sandbox.failure(
      sandbox.downloader(server, maximumRetries: 5), sandbox.asked())
    #expect(cause == .transport(TransportError(code, url: "http://example.com/big")))
    #expect(server.requests.count == 1)
  }

  @Test func `waits double, vary, end, and are as long as the server says`() {
    let policy = RetryPolicy(
      maximumRetries: 8, delay: .seconds(1), maximumDelay: .seconds(30))
    let waits = (0..<9).map { policy.wait(before: $0, stated: nil, random: 1) }
    #expect(waits == [1, 2, 4, 8, 16, 30, 30, 30].map { Duration.seconds($0) } + [nil])
    #expect(policy.wait(before: 1, stated: nil, random: 0) == .seconds(1))
    #expect(policy.wait(before: 0, stated: 7, random: 1) == .seconds(7))
    #expect(policy.wait(before: 0, stated: 0, random: 1) == .seconds(0))
    #expect(policy.wait(before: 0, stated: 31, random: 1) == nil)
  }

  @Test func `the delay is bounded after very many tries`() {
    let policy = RetryPolicy(
      maximumRetries: 100, delay: .milliseconds(500), maximumDelay: .seconds(30))
    #expect(policy.wait(before: 0, stated: nil, random: 1) == .milliseconds(500))
    #expect(policy.wait(before: 0, stated: 30, random: 1) == .seconds(30))
    #expect(policy.wait(before: 0, stated: 31, random: 1) == nil)
    for retry in [6, 20, 63, 64, 99] {
      #expect(policy.wait(before: retry, stated: nil, random: 1) == .seconds(30))
    }
  }
}
