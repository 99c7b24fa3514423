import TestSupport
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(1))) struct StreamSourceTests {
  /// Reads all pieces.
  private func bytes(_ source: StreamSource) async throws -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    while let piece = try await source.next() { pieces.append(piece) }
    return pieces
  }

  @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_000])
  func `all bytes come, in pieces that are never empty, and then the end`(count: Int) async throws {
    let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
    let source = StreamSource(InputStream(data: data))
    let pieces = try await bytes(source)
    #expect(Data(pieces.joined()) == data)
    #expect(pieces.allSatisfy { !$0.isEmpty && $0.count <= 65_536 })
  }

  @Test func `a stream that was read by another request is an error, not an empty body`()
    async throws
  {
    nonisolated(unsafe) let stream = InputStream(data: Data("hello".utf8))
    _ = try await bytes(unsafe StreamSource(stream))
    let again = unsafe StreamSource(stream)
    let error = await #expect(throws: (any Error).self) { try await again.next() }
    #expect("\(error as Any)".contains("read before"))
  }

  @Test func `a stream that was read in part is not read on by another request`() async throws {
    nonisolated(unsafe) let stream = InputStream(data: Data(count: 200_000))
    var first: StreamSource? = unsafe StreamSource(stream)
    #expect(try await first?.next() != nil)
    first = nil
    await #expect(throws: (any Error).self) { try await unsafe StreamSource(stream).next() }
  }

  @Test func `a source that was never asked leaves its stream for another`() async throws {
    nonisolated(unsafe) let stream = InputStream(data: Data("hello".utf8))
    var first: StreamSource? = unsafe StreamSource(stream)
    _ = first
    first = nil
    #expect(try await bytes(unsafe StreamSource(stream)) == [Array("hello".utf8)])
  }

  @Test func `a file that is missing, or is a folder, is an error`() async throws {
    let folder = TemporaryFolder()
    for path in [folder.path + "/none", folder.path] {
      let source = StreamSource(try #require(InputStream(fileAtPath: path)))
      await #expect(throws: (any Error).self, "\(path)") { try await source.next() }
    }
  }
}
