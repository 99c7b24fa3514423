import CacheSystem
import Synchronization
import Testing
import TransportTesting

@testable import CurlHTTP

/// The thread that runs libcurl is the one on which an interim answer is told.
struct TransferDriverTests {
  /// The numbers of the requests whose hints have been told.
  private let told = Monitor<Set<Int>>([])

  /// Says a hint and the answer, of as many bytes as the target asks for, `/bytes`; with a number,
  /// `/bytes/number`, the answer comes when the hint has been told.
  private func hintingOrigin() throws -> LoopbackOrigin {
    try LoopbackOrigin { [told] request, connection in
      let parts = request.target.split(separator: "/")
      let count = Int(parts[0]) ?? 0
      let hint = "HTTP/1.1 103 Early Hints\r\n\r\n"
      let answer =
        Array("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n".utf8)
        + [UInt8](repeating: 7, count: count)
      // In one piece where nothing is between them: TCP would hold a second one back.
      guard let number = parts.dropFirst().first.flatMap({ Int($0) }) else {
        return connection.send(Array(hint.utf8) + answer)
      }
      connection.send(hint)
      _ = told.wait { $0.remove(number) }
      connection.send(answer)
    }
  }

  /// Fetches, and returns the number of the thread that ran libcurl when the hint came.
  private func driver(
    of transport: CurlTransport, _ origin: LoopbackOrigin, bytes: Int, waits number: Int? = nil
  ) async throws -> UInt64 {
    let threads = Mutex<[UInt64]>([])
    let url = try origin.address("/\(bytes)" + (number.map { "/\($0)" } ?? ""))
    let answer = try await transport.send(HTTPRequest(url: url), body: nil, options: patient) { _ in
      threads.withLock { $0.append(threadNumber()) }
      if let number { told.change { _ = $0.insert(number) } }
    }
    #expect(try await answer.body.readAll() == [UInt8](repeating: 7, count: bytes))
    return try #require(threads.withLock { $0.count == 1 ? $0[0] : nil })
  }

  @Test(.timeLimit(.minutes(1)))
  func `requests to a new host do not wait for the first answer`() async throws {
    let arrived = Monitor(0)
    let count = 4
    let origin = try LoopbackOrigin { _ in
      arrived.change { $0 += 1 }
      arrived.wait { $0 == count ? () : nil }
      return OriginAnswer("here")
    }
    let transport = try makeTransport()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        let url = try origin.address("/\(number)")
        group.addTask {
          let answer = try await transport.send(
            HTTPRequest(url: url), body: nil, options: patient, onInterim: { _ in })
          #expect(try await answer.body.readAll() == Array("here".utf8))
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("one thread runs all transfers of a transport, one after the other or at once")
  func oneThread() async throws {
    let origin = try hintingOrigin()
    let transport = try makeTransport()
    let loop = try await driver(of: transport, origin, bytes: 2)
    for (bytes, number) in [(2, nil), (2, -1), (3_000_000, -2)] {
      #expect(try await driver(of: transport, origin, bytes: bytes, waits: number) == loop)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<16 {
        group.addTask {
          for turn in 0..<50 {
            let waits = (number + turn).isMultiple(of: 5) ? number * 50 + turn : nil
            let thread = try await driver(
              of: transport, origin, bytes: number * 1_000, waits: waits)
            #expect(thread == loop)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `connections beyond the limit of all are not kept`() async throws {
    let origin = try LoopbackOrigin { _ in OriginAnswer("here") }
    var setup = NetworkSetup(proxy: .none)
    setup.connections = 2
    setup.resolves = (0..<5).map { "n\($0).test:\(origin.port):127.0.0.1" }
    let transport = try CurlTransport(setup)
    for number in 0..<5 {
      let url = try NormalizedURL("http://n\(number).test:\(origin.port)/")
      #expect(try await transport.fetch(url).body == "here")
    }
    for _ in 0..<3 { await origin.connectionEnd() }
    #expect(origin.connections == 5)
  }
}
