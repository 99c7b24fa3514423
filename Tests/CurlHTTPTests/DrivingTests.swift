import CacheSystem
import HTTPSemantics
import HTTPTransports
import Synchronization
import Testing

@testable import CurlHTTP

/// The thread that runs libcurl is the one on which an interim answer is told.
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

  /// Fetches, and returns the number of the thread that ran libcurl when the hint came.
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

  @Test("one thread runs all transfers of a transport, one after the other or at once")
  func oneThread() async throws {
    let origin = try pausingOrigin()
    let transport = try makeTransport()
    let loop = try await driver(of: transport, origin.url("/0/2"))
    for target in ["/0/2", "/5/2", "/5/3000000"] {
      #expect(try await driver(of: transport, origin.url(target)) == loop)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<16 {
        group.addTask {
          for turn in 0..<50 {
            let pause = (number + turn).isMultiple(of: 5) ? 3 : 0
            let url = try origin.url("/\(pause)/\(number * 1_000)")
            #expect(try await driver(of: transport, url) == loop)
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
