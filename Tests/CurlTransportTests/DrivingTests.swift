import CacheSystem
import Glibc
import HTTPSemantics
import HTTPTransport
import Synchronization
import Testing

@testable import CurlTransport

/// Who drives libcurl shows in the thread on which an interim answer is told.
struct DrivingTests {
  /// Says a hint at once and the answer, of as many bytes as the target asks for, after its pause:
  /// `/milliseconds/bytes`.
  private func pausingOrigin() throws -> Origin {
    try Origin { request, connection in
      let numbers = request.target.split(separator: "/").compactMap { Int($0) }
      let hint = "HTTP/1.1 103 Early Hints\r\n\r\n"
      let answer =
        Array("HTTP/1.1 200 OK\r\nContent-Length: \(numbers[1])\r\n\r\n".utf8)
        + [UInt8](repeating: 7, count: numbers[1])
      // In one piece where there is no pause: TCP would hold a second one back.
      if numbers[0] == 0 { return connection.send(Array(hint.utf8) + answer) }
      connection.send(hint)
      pause(nanoseconds: Int64(numbers[0]) * 1_000_000)
      connection.send(answer)
    }
  }

  /// Fetches, and returns the number of the thread that drove when the hint came.
  private func driver(
    of transport: CurlTransport, _ url: NormalizedURL
  ) async throws -> UInt64 {
    let threads = Mutex<[UInt64]>([])
    let bytes = Int(url.target.split(separator: "/")[1]) ?? 0
    let answer = try await transport.send(HTTPRequest(url: url), body: nil, options: patient) { _ in
      threads.withLock { $0.append(threadNumber()) }
    }
    #expect(try await answer.body.readAll() == [UInt8](repeating: 7, count: bytes))
    return try #require(threads.withLock { $0.count == 1 ? $0[0] : nil })
  }

  /// Fetches until a caller has driven by itself, on a machine of whatever speed: the loop's thread may
  /// have the seat for a moment after each.
  private func approach(_ transport: CurlTransport, _ origin: Origin, _ loop: UInt64) async throws {
    repeat {
      try await Task.sleep(for: .milliseconds(1))
      transport.loop.nearby.note(try origin.url(), .zero)
    } while try await driver(of: transport, origin.url("/0/2")) == loop
  }

  @Test("a caller drives by itself once its server answers in a moment", .timeLimit(.minutes(1)))
  func near() async throws {
    let origin = try pausingOrigin()
    let transport = try makeTransport()
    let loop = try await driver(of: transport, origin.url("/0/2"))
    while try await driver(of: transport, origin.url("/0/2")) == loop { await Task.yield() }
  }

  @Test("the loop's thread drives what takes longer", .timeLimit(.minutes(1)))
  func far() async throws {
    let origin = try pausingOrigin()
    let transport = try makeTransport()
    let loop = try await driver(of: transport, origin.url("/5/2"))
    for _ in 0..<20 {
      #expect(try await driver(of: transport, origin.url("/5/2")) == loop)
    }
  }

  @Test(
    "what a caller has begun and that takes longer goes on, and the next is the loop's thread's",
    .timeLimit(.minutes(1)), arguments: ["/50/2", "/5/3000000"])
  func handedOver(target: String) async throws {
    let origin = try pausingOrigin()
    let transport = try makeTransport()
    let loop = try await driver(of: transport, origin.url("/5/2"))
    for _ in 0..<5 {
      try await approach(transport, origin, loop)
      transport.loop.nearby.note(try origin.url(), .zero)
      _ = try await driver(of: transport, origin.url(target))
      #expect(try await driver(of: transport, origin.url("/5/2")) == loop)
    }
  }

  @Test("a server that is near and says nothing any more is not waited for again")
  func hanging() async throws {
    let origin = try Origin { _, connection in connection.waitForClose() }
    let transport = try makeTransport()
    let url = try origin.url()
    transport.loop.nearby.note(url, .zero)
    let options = TransportOptions(idleTimeout: .milliseconds(40))
    #expect(await transport.failure(url, options: options)?.code == .timeout)
    #expect(transport.loop.nearby.lastTime(of: url) == nil)
  }

  @Test("others go on while one drives, and after it", .timeLimit(.minutes(1)))
  func manyAtOnce() async throws {
    let origin = try pausingOrigin()
    let transport = try makeTransport()
    let loop = try await driver(of: transport, origin.url("/0/2"))
    try await approach(transport, origin, loop)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<16 {
        group.addTask {
          for turn in 0..<50 {
            let pause = (number + turn).isMultiple(of: 5) ? 3 : 0
            _ = try await driver(of: transport, origin.url("/\(pause)/\(number * 1_000)"))
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// Whether SIGPIPE is in a set that a call fills.
  private func hasBrokenPipe(_ fill: (inout sigset_t) -> Void) -> Bool {
    var set = sigset_t()
    fill(&set)
    return unsafe sigismember(&set, SIGPIPE) == 1
  }

  @Test func `a SIGPIPE on a caller's thread does no harm and is not left behind`() {
    func isBlocked() -> Bool { hasBrokenPipe { unsafe pthread_sigmask(SIG_BLOCK, nil, &$0) } }
    let wasBlocked = isBlocked()
    ThreadSignals.withoutBrokenPipe { pthread_kill(pthread_self(), SIGPIPE) }
    let isPending = hasBrokenPipe { unsafe sigpending(&$0) }
    #expect(!isPending)
    #expect(isBlocked() == wasBlocked)
  }

  @Test func `an origin is near as long as its last answer came in a moment`() throws {
    let origins = NearbyOrigins()
    let one = try NormalizedURL("http://a.example/1")
    #expect(origins.lastTime(of: one) == nil)
    origins.note(one, .zero)
    origins.note(one, NearbyOrigins.moment)
    #expect(origins.lastTime(of: try NormalizedURL("http://a.example/2")) == NearbyOrigins.moment)
    #expect(origins.lastTime(of: try NormalizedURL("http://a.example:8080/1")) == nil)
    #expect(origins.lastTime(of: try NormalizedURL("http://b.example/1")) == nil)
    origins.note(one, NearbyOrigins.moment + .nanoseconds(1))
    #expect(origins.lastTime(of: one) == nil)
  }

  @Test func `as many origins are known as are allowed`() throws {
    let origins = NearbyOrigins()
    let urls = try (1...NearbyOrigins.most * 3).map { port in
      try NormalizedURL("http://a.example:\(port)/")
    }
    for url in urls {
      origins.note(url, .zero)
      #expect(origins.lastTime(of: url) == .zero)
      origins.note(url, .zero)
      #expect(urls.count { origins.lastTime(of: $0) != nil } <= NearbyOrigins.most)
    }
  }
}
