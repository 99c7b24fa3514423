import CacheFormat
import ClientTesting
import MessageDigests
import Synchronization
import Testing

@testable import RemoteTier

/// Collects how bodies have ended.
private final class Ends: Sendable {
  private let list = Mutex<[(reason: RemoteReason?, bytes: UInt64)]>([])
  var reasons: [RemoteReason?] { list.withLock { $0.map(\.reason) } }
  var bytes: [UInt64] { list.withLock { $0.map(\.bytes) } }
  func add(_ reason: RemoteReason?, _ bytes: UInt64) {
    list.withLock { $0.append((reason, bytes)) }
  }
}

@Suite(.timeLimit(.minutes(1)))
struct RemoteBodyTests {
  private let ends = Ends()
  private let notices = Notices()

  /// Promises some bytes.
  private func response(
    _ bytes: [UInt8], length: Int? = nil, inline: [UInt8]? = nil
  ) -> SharedResponse {
    var response = Machine.response(bytes)
    response.length = UInt64(length ?? bytes.count)
    response.inlineBody = inline
    return response
  }

  /// Makes a body of a document.
  private func inline(_ response: SharedResponse) -> RemoteBody {
    RemoteBody(response, of: "k", from: nil) { [ends] in ends.add($0, $1) }
  }

  /// Makes a body that comes in pieces.
  private func transferred(
    _ response: SharedResponse, _ scripted: ScriptedBody
  ) async throws -> RemoteBody {
    let server = try Machine.server(ScriptedTransport(.init()), notices: notices)
    let (_, admission) = try await server.send(.reading, "GET", "x")
    return RemoteBody(response, of: "k", from: (admission, scripted)) { [ends] in ends.add($0, $1) }
  }

  private func read(_ body: RemoteBody) async -> Result<[UInt8], RemoteReason> {
    var bytes: [UInt8] = []
    do throws(RemoteReason) {
      while let piece = try await body.next() { bytes += piece }
      return .success(bytes)
    } catch { return .failure(error) }
  }

  private func scripted(
    _ pieces: [[UInt8]], end: TransportError.Code? = nil
  ) -> ScriptedBody {
    var answer = ScriptedTransport.Answer(pieces)
    answer.end = end
    return ScriptedBody(answer, url: "http://cache.test/x")
  }

  @Test(arguments: [0, 1, 4_096])
  func `a body of a document is what was promised`(count: Int) async {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let body = inline(response(bytes, inline: bytes))
    #expect(await read(body) == .success(bytes))
    // The end comes again, and is counted once.
    #expect(await read(body) == .success([]))
    body.cancel()
    #expect(ends.reasons == [nil] && ends.bytes == [UInt64(count)])
  }

  @Test func `a body of a document with other bytes, or another length, is refused`() async {
    for wrong in [
      response([1, 2], inline: [1, 3]), response([1, 2], inline: [1]), response([1], inline: []),
      response([], inline: [1]), response([1, 2], inline: [1, 2, 3]), response([1], length: 0),
      response([1], length: 2, inline: [1]),
    ] {
      let body = inline(wrong)
      #expect(await read(body) == .failure(.wrongBytes))
      #expect(await read(body) == .failure(.wrongBytes), "it stays so")
    }
    #expect(ends.reasons == Array(repeating: .wrongBytes, count: 7))
    #expect(notices.all == [], "no server has sent them")
  }

  @Test func `a wrong body is never right, also not when it is cancelled at its end`() async {
    let wrong = response([1, 2, 3], inline: [9, 9, 9])
    var rightCount = 0
    for _ in 0..<2_000 {
      let body = RemoteBody(wrong, of: "k", from: nil) { _, _ in }
      _ = try? await body.next()
      let cancelled = Task.detached { body.cancel() }
      if await read(body) == .success([]) { rightCount += 1 }
      await cancelled.value
    }
    #expect(rightCount == 0)
  }

  @Test func `pieces are joined whatever their lengths`() async throws {
    let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
    for cuts in [[1_000], [1, 999], [500, 500], Array(repeating: 1, count: 1_000)] {
      var rest = bytes[...]
      let pieces = cuts.map { count in
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
      }
      #expect(
        await read(try await transferred(response(bytes), scripted(pieces))) == .success(bytes))
    }
    #expect(await read(try await transferred(response([]), scripted([]))) == .success([]))
    #expect(ends.reasons == Array(repeating: nil, count: 5))
  }

  @Test func `a body that is too long ends at the piece that shows it`() async throws {
    let source = scripted([[1, 2], [3], [4], [5]])
    let body = try await transferred(response([1, 2]), source)
    #expect(await read(body) == .failure(.wrongBytes))
    #expect(source.isCancelled && source.taken == 2)
    #expect(notices.all == [.wrongBytes(server: Machine.base, key: "k")])
    #expect(await read(body) == .failure(.cancelled))
    #expect(ends.reasons == [.wrongBytes] && notices.all.count == 1)
  }

  @Test func `a body that breaks is not reported as wrong`() async throws {
    for (end, reason) in [
      (.truncatedBody, .truncated), (.timeout, .timeout), (.connectionLost, .unreachable),
    ] as [(TransportError.Code, RemoteReason)] {
      // Also if all bytes have come.
      let body = try await transferred(response([1, 2]), scripted([[1], [2]], end: end))
      #expect(await read(body) == .failure(reason))
    }
    #expect(ends.reasons == [.truncated, .timeout, .unreachable] && ends.bytes == [2, 2, 2])
    #expect(notices.all == [])
  }

  @Test func `a body that nobody reads to its end is cancelled`() async throws {
    let source = scripted([[1], [2]])
    do {
      let body = try await transferred(response([1, 2]), source)
      #expect(try await body.next() == [1])
    }
    #expect(source.isCancelled && ends.reasons == [.cancelled] && ends.bytes == [1])
    let other = scripted([[1], [2]])
    let body = try await transferred(response([1, 2]), other)
    body.cancel()
    #expect(other.isCancelled)
    #expect(await read(body) == .failure(.cancelled))
    #expect(ends.reasons == [.cancelled, .cancelled])
  }

  @Test func `the end of a body ends its look-up`() async throws {
    let server = try Machine.server(ScriptedTransport(.init())) { $0.maximumLookUps = 1 }
    for wasCancelled in [false, true] {
      let (_, admission) = try await server.send(.reading, "GET", "x")
      await #expect(throws: RemoteReason.busy) { try await server.send(.reading, "GET", "y") }
      let body = RemoteBody(response([1]), of: "k", from: (admission, scripted([[1]]))) { _, _ in }
      if wasCancelled { body.cancel() } else { #expect(await read(body) == .success([1])) }
      body.cancel()
    }
    _ = try await server.send(.reading, "GET", "x")
  }
}
