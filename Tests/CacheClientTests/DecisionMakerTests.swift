import CacheSystem
import ClientTesting
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct DecisionMakerTests {
  /// Occupies all threads of a client's store until it is ended.
  private final class Occupation {
    private let gate = Monitor(false)

    init(_ client: CachingClient) {
      for _ in 0..<4 {
        Task { [gate] in
          await client.asyncStore.perform { _ in gate.wait { $0 ? () : nil } }
        }
      }
    }

    func end() { gate.change { $0 = true } }
  }

  private func maker(_ sandbox: ClientSandbox, _ path: String) -> DecisionMaker {
    DecisionMaker(
      cache: sandbox.client.cache, store: sandbox.client.asyncStore,
      request: HTTPRequest(url: request(path).url), policy: .protocolRules, lifetime: nil,
      now: sandbox.client.now)
  }

  @Test func `waits for no thread of the store if there is no file to read`() async throws {
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=60")]
    let sandbox = try ClientSandbox(ScriptedTransport.Answer("hello", fields: fields))
    _ = try await sandbox.client.data(for: request("/stored"))
    // The first hit reads the file, later ones find it in memory.
    guard case .serve = await maker(sandbox, "/stored").decision() else {
      Issue.record("is not served")
      return
    }
    let occupation = Occupation(sandbox.client)
    defer { occupation.end() }
    guard case .forward = await maker(sandbox, "/absent").decision(),
      case .serve = await maker(sandbox, "/stored").decision()
    else {
      Issue.record("is decided otherwise")
      return
    }
  }

  @Test func `reads files on a thread of the store`() async throws {
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=60")]
    let sandbox = try ClientSandbox(ScriptedTransport.Answer("hello", fields: fields))
    _ = try await sandbox.client.data(for: request("/stored"))
    #expect(sandbox.client.cache.readsFiles(for: HTTPRequest(url: request("/stored").url)))
    #expect(!sandbox.client.cache.readsFiles(for: HTTPRequest(url: request("/absent").url)))
    _ = await maker(sandbox, "/stored").decision()
    #expect(!sandbox.client.cache.readsFiles(for: HTTPRequest(url: request("/stored").url)))
  }
}
