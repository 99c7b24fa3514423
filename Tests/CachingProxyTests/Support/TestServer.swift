import CLibrary
import CacheClient
import CacheSystem
import HTTPSemantics
import HTTPTransports
import Synchronization
import TestSupport
import Testing

@testable import CachingProxy

/// Answers as a test says.
struct ScriptedBackend: ProxyBackend {
  var stored: @Sendable (HTTPRequest) -> ProxyAnswer? = { _ in nil }
  var answering:
    @Sendable (HTTPRequest, RequestBody?, @escaping @Sendable (HTTPResponseHead) -> Void)
      async -> ProxyAnswer = { _, _, _ in .text("ok") }

  func storedAnswer(to request: HTTPRequest) -> ProxyAnswer? { stored(request) }

  func answer(
    _ request: HTTPRequest, body: RequestBody?,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async -> ProxyAnswer {
    await answering(request, body, onInterim)
  }
}

private let testStatus = CacheStatus(cacheName: "Test", forward: .uriMiss)

extension ProxyAnswer {
  /// An answer with a text as body.
  static func text(_ text: String, status: Int = 200, fields: HTTPFields = []) -> ProxyAnswer {
    ProxyAnswer(
      head: HTTPResponseHead(status: status, fields: fields), body: .bytes(Array(text.utf8)),
      source: .network, cacheStatus: testStatus)
  }

  /// An answer whose body comes in pieces.
  static func stream(
    _ pieces: Pieces, length: UInt64? = nil, status: Int = 200, fields: HTTPFields = []
  ) -> ProxyAnswer {
    ProxyAnswer(
      head: HTTPResponseHead(status: status, fields: fields),
      body: .stream(length: length, pieces), source: .network, cacheStatus: testStatus)
  }
}

/// Gives pieces, and then an end or an error.
final class Pieces: AnswerPieces {
  struct Broken: Error {}

  private let giving: @Sendable (Int) async throws -> [UInt8]?
  private let given = Mutex(0)
  private let cancelled = Mutex(false)
  let storing: StoringState

  /// - Parameter next: gets the number of pieces that were given before.
  init(
    storing: StoringState = .fromStore, _ next: @escaping @Sendable (Int) async throws -> [UInt8]?
  ) {
    giving = next
    self.storing = storing
  }

  convenience init(
    _ pieces: [String], isBroken: Bool = false, storing: StoringState = .fromStore
  ) {
    self.init(storing: storing) { index in
      if index < pieces.count { return Array(pieces[index].utf8) }
      if isBroken { throw Broken() }
      return nil
    }
  }

  var isCancelled: Bool { cancelled.withLock { $0 } }

  func next() async throws -> [UInt8]? {
    let index = given.withLock { given in
      defer { given += 1 }
      return given
    }
    return try await giving(index)
  }

  func cancel() { cancelled.withLock { $0 = true } }
}

/// Keeps what it is told.
final class Recorder: ProxyObserver {
  private let monitor = Monitor<[AnswerRecord]>([])

  func answered(_ record: AnswerRecord) { monitor.change { $0.append(record) } }

  /// Waits until there are so many records.
  func records(count: Int) async throws -> [AnswerRecord] {
    try await onThread { [monitor] in monitor.wait { $0.count >= count ? $0 : nil } }
  }
}

/// Runs a server for the time of a test.
func withServer<Result: Sendable>(
  _ backend: some ProxyBackend, origin: String? = "http://origin.test",
  hosts: [String] = ["x", "localhost"], trustsForwarded: Bool = false,
  pages: ProxyStatus? = nil, observers: [any ProxyObserver] = [], idleSeconds: Int = 75,
  _ body: (UInt16, ProxyServer) async throws -> Result
) async throws -> Result {
  let server = ProxyServer(
    backend: backend,
    options: ProxyOptions(
      listen: ListenAddress(host: "127.0.0.1", port: 0),
      origin: try origin.map { try NormalizedURL($0) }, hosts: hosts,
      trustsForwarded: trustsForwarded, idleSeconds: idleSeconds),
    pages: pages, observers: observers, identity: ProxyIdentity(pseudonym: "test"),
    clock: TestClock())
  return try await run(server, body)
}

/// Starts a server, and stops it at the end of a test.
func run<Result: Sendable>(
  _ server: ProxyServer, _ body: (UInt16, ProxyServer) async throws -> Result
) async throws -> Result {
  let address = try server.start()
  do {
    let result = try await body(address.port, server)
    await server.stop(grace: .zero)
    return result
  } catch {
    await server.stop(grace: .zero)
    throw error
  }
}

extension ProxyServer {
  /// The requests whose answers have not ended, while it runs.
  var activeCount: Int? {
    guard case .running(let server) = phase.withLock({ $0 }) else { return nil }
    return server.core.activeCount
  }
}

/// Runs what waits on a thread of its own, for it must not sit on Swift's pool.
func onThread<Result: Sendable>(
  _ work: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    do {
      try startThread { continuation.resume(with: Swift.Result { try work() }) }
    } catch {
      continuation.resume(throwing: error)
    }
  }
}

/// Sends bytes, and reads all that comes until the server closes or an answer is complete.
func exchange(_ port: UInt16, _ text: String, untilClosed: Bool = false) async throws
  -> RawClient.Reading
{
  try await onThread {
    let client = try RawClient(port: port)
    client.send(text)
    return untilClosed ? client.read() : client.readAnswer()
  }
}

/// A file that is open as long as this value lives.
final class OpenFile: Sendable {
  let descriptor: Int32

  init(_ path: String, _ bytes: [UInt8]) throws {
    // Safety: the path is a C string, and the bytes are read, for the calls only.
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    try #require(descriptor >= 0)
    let count = unsafe write(descriptor, bytes, bytes.count)
    try #require(count == bytes.count)
  }

  deinit { close(descriptor) }

  var isOpen: Bool { fcntl(descriptor, F_GETFD) >= 0 }
}

extension RequestBody? {
  /// Reads a body to its end; nil where it breaks off.
  func bytes() async -> [UInt8]? {
    switch self {
    case nil: return []
    case .bytes(let bytes): return bytes
    case .stream(_, let source):
      var bytes: [UInt8] = []
      do {
        while let piece = try await source.next() { bytes += piece }
        return bytes
      } catch {
        return nil
      }
    }
  }
}
