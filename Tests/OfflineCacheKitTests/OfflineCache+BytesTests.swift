import LoopbackOrigin
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(2)))
struct OfflineCacheBytesTests {
  @Test func `bytes come at the reader's pace, and are stored when all are read`() async throws {
    let body = String(repeating: "0123456789", count: 20_000)
    let sandbox = try FaceSandbox { _ in fresh(body) }
    let (bytes, response) = try await sandbox.cache.bytes(for: sandbox.request())
    #expect(response.statusCode == 200)
    var read: [UInt8] = []
    for try await byte in bytes { read.append(byte) }
    #expect(read == Array(body.utf8))
    #expect(try await sandbox.cache.data(for: sandbox.request()).1.metadata?.source == .disk)
    let (stored, _) = try await sandbox.cache.bytes(from: sandbox.origin.url("/a"))
    read = []
    for try await byte in stored { read.append(byte) }
    #expect(read == Array(body.utf8))
  }

  @Test func `a body that is cut short is an error, whole or in bytes`() async throws {
    let sandbox = try FaceSandbox { _ in
      OriginAnswer("0123456789", fields: ["Cache-Control: max-age=9"]).cut(after: 5)
    }
    let error = await #expect(throws: URLError.self) {
      try await sandbox.cache.data(for: sandbox.request())
    }
    #expect(error?.code == .networkConnectionLost)
    let (bytes, _) = try await sandbox.cache.bytes(for: sandbox.request())
    var count = 0
    await #expect(throws: URLError.self) { for try await _ in bytes { count += 1 } }
    #expect(count <= 5)
    #expect(sandbox.cache.cachedResponse(for: sandbox.request()) == nil)
  }
}
