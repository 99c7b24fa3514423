import LoopbackOrigin
import Synchronization
import Testing

@testable import OfflineCacheKit

/// Under real sessions. What could crash or hang is in the tests that run `sessionprobe`.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct OfflineURLProtocolTests {
  /// Answers from the cache of the test that runs.
  private final class TestProtocol: OfflineURLProtocol {
    static let current = Mutex<OfflineCache?>(nil)
    override class var cache: OfflineCache? { current.withLock { $0 } }
  }

  private struct Ending: Sendable {
    let data: Data?
    let response: HTTPURLResponse?
    let code: URLError.Code?
  }

  private func end(_ session: URLSession, _ request: URLRequest) async -> Ending {
    await withCheckedContinuation { continuation in
      session.dataTask(with: request) { data, response, error in
        continuation.resume(
          returning: Ending(
            data: data, response: response as? HTTPURLResponse, code: (error as? URLError)?.code))
      }.resume()
    }
  }

  private func with(
    _ sandbox: FaceSandbox, _ work: (URLSession) async throws -> Void
  ) async rethrows {
    TestProtocol.current.withLock { $0 = sandbox.cache }
    defer { TestProtocol.current.withLock { $0 = nil } }
    let session = sandbox.session(TestProtocol.self)
    try await work(session)
    session.finishTasksAndInvalidate()
  }

  @Test func `a session is answered by the network first and then by the store, with metadata`()
    async throws
  {
    let large = String(repeating: "x", count: 300_000)
    let sandbox = try FaceSandbox { fresh($0.target == "/large" ? large : "hello", ["X-A: b"]) }
    await with(sandbox) { session in
      for target in ["/small", "/large"] {
        for source in [ResponseMetadata.Source.network, .disk] {
          let ending = await end(session, sandbox.request(target))
          #expect(ending.data == Data((target == "/large" ? large : "hello").utf8))
          #expect(ending.response?.value(forHTTPHeaderField: "X-A") == "b")
          #expect((ending.response as? OfflineURLResponse)?.metadata?.source == source)
        }
      }
      let policy = await end(session, sandbox.request("/new", .returnCacheDataDontLoad))
      #expect(policy.code == .resourceUnavailable)
    }
    #expect(sandbox.origin.requests.count == 2)
  }

  @Test func `redirects are followed inside, HEAD has no data, and errors are those of the cache`()
    async throws
  {
    let sandbox = try FaceSandbox { request in
      switch request.target {
      case "/moved": .redirect("/a")
      case "/circle": .redirect("/circle")
      case "/cut": OriginAnswer("0123456789").cut(after: 4)
      default: fresh("hello")
      }
    }
    await with(sandbox) { session in
      let moved = await end(session, sandbox.request("/moved"))
      #expect(moved.data == Data("hello".utf8))
      #expect(moved.response?.url == sandbox.origin.url("/a"))
      var head = sandbox.request("/a")
      head.httpMethod = "HEAD"
      let ending = await end(session, head)
      #expect(ending.data?.isEmpty == true)
      #expect(ending.response?.statusCode == 200)
      #expect(await end(session, sandbox.request("/circle")).code == .httpTooManyRedirects)
      #expect(await end(session, sandbox.request("/cut")).code == .networkConnectionLost)
      sandbox.cache.offlineMode = .always
      #expect(await end(session, sandbox.request("/b")).code == .notConnectedToInternet)
      #expect(await end(session, sandbox.request("/a")).data == Data("hello".utf8))
      let long = sandbox.request("/" + String(repeating: "a", count: 100_000))
      #expect(await end(session, long).code == .badURL)
    }
  }

  /// The server holds its answers back: to resume a task that is just ending is a crash in Foundation.
  @Test func `tasks that are suspended and resumed have their answers, once each`() async throws {
    let mayAnswer = DispatchSemaphore(value: 0)
    let sandbox = try FaceSandbox { request in
      mayAnswer.wait()
      mayAnswer.signal()
      return fresh(request.target)
    }
    await with(sandbox) { session in
      let ended = AsyncStream.makeStream(of: String.self)
      let count = 40
      for number in 0..<count {
        let task = session.dataTask(with: sandbox.request("/\(number)")) { data, _, _ in
          ended.continuation.yield(data.map { String(decoding: $0, as: UTF8.self) } ?? "none")
        }
        task.resume()
        for _ in 0..<(number % 4) {
          task.suspend()
          task.resume()
        }
      }
      mayAnswer.signal()
      var answers: [String] = []
      for await answer in ended.stream {
        answers.append(answer)
        if answers.count == count { break }
      }
      #expect(Set(answers) == Set((0..<count).map { "/\($0)" }))
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `tasks of a session that is invalidated are cancelled, once each`() async throws {
    let mayAnswer = DispatchSemaphore(value: 0)
    let sandbox = try FaceSandbox { request in
      mayAnswer.wait()
      mayAnswer.signal()
      return fresh(request.target)
    }
    await with(sandbox) { session in
      let ended = AsyncStream.makeStream(of: URLError.Code?.self)
      let count = 4
      for number in 0..<count {
        session.dataTask(with: sandbox.request("/\(number)")) { _, _, error in
          ended.continuation.yield((error as? URLError)?.code)
        }.resume()
      }
      await eventually { sandbox.origin.connections >= count }
      session.invalidateAndCancel()
      var codes: [URLError.Code?] = []
      for await code in ended.stream {
        codes.append(code)
        if codes.count == count { break }
      }
      #expect(codes == Array(repeating: .cancelled, count: count))
      mayAnswer.signal()
      // The cache has its own session, and goes on.
      let again = await end(sandbox.session(TestProtocol.self), sandbox.request("/again"))
      #expect(again.data == Data("/again".utf8))
      ended.continuation.finish()
      for await _ in ended.stream { Issue.record("a task has ended twice") }
    }
  }

  @Test func `a 401 with a challenge ends, as a status`() async throws {
    let sandbox = try FaceSandbox { _ in
      OriginAnswer("who?", status: 401, fields: ["WWW-Authenticate: Basic realm=\"x\""])
    }
    await with(sandbox) { session in
      let ending = await end(session, sandbox.request())
      #expect(ending.response?.statusCode == 401)
      #expect(ending.data == Data("who?".utf8))
      let metadata = (ending.response as? OfflineURLResponse)?.metadata
      #expect(metadata?.source == .network)
    }
  }

  @Test func `a download task is refused with an error`() async throws {
    let sandbox = try FaceSandbox()
    try await with(sandbox) { session in
      let error: (any Error)? = await withCheckedContinuation { continuation in
        session.downloadTask(with: sandbox.request()) { _, _, error in
          continuation.resume(returning: error)
        }.resume()
      }
      let refusal = try #require(error as? URLError)
      #expect(refusal.code == .unsupportedURL)
      #expect(refusal.localizedDescription.contains("OfflineCache.download(for:to:)"))
    }
    #expect(sandbox.origin.requests.isEmpty)
  }

  @Test func `what is no GET or HEAD of http goes its usual way`() async throws {
    let sandbox = try FaceSandbox { OriginAnswer("\($0.method) \($0.body.count)") }
    await with(sandbox) { session in
      var post = sandbox.request()
      post.httpMethod = "POST"
      post.httpBody = Data("12345".utf8)
      let ending = await end(session, post)
      #expect(ending.data == Data("POST 5".utf8))
      #expect(ending.response is OfflineURLResponse == false)
    }
    for (url, method, isOurs) in [
      ("http://a/", "GET", true), ("HTTPS://a/", "HEAD", true), ("ftp://a/", "GET", false),
      ("file:///a", "GET", false), ("http://a/", "DELETE", false),
    ] {
      var request = URLRequest(url: try #require(URL(string: url)))
      request.httpMethod = method
      TestProtocol.current.withLock { $0 = sandbox.cache }
      #expect(TestProtocol.canInit(with: request) == isOurs)
      TestProtocol.current.withLock { $0 = nil }
      #expect(TestProtocol.canInit(with: request) == false)
    }
  }
}
