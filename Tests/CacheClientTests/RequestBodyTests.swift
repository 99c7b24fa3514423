import ClientTesting
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct RequestBodyTests {
  private typealias Answer = ScriptedTransport.Answer

  @Test(arguments: [CachePolicy.protocolRules, .reload, .storedElseLoad, .revalidate])
  func `a GET with a body is answered by the origin, for this caller alone`(
    policy: CachePolicy
  ) async throws {
    let sandbox = try ClientSandbox(Answer("poison", fields: fresh()))
    let options = FetchOptions(policy: policy)
    for body in [RequestBody.bytes([1]), .stream(length: nil, ScriptedSource([[2]]))] {
      let response = try await sandbox.client.fetch(request(), body: body, options: options)
      while let piece = try await response.body.next(), !piece.isEmpty {}
      #expect(response.body.storing.name == "forbidden")
    }
    #expect(sandbox.store.statistics.entries == 0)
    sandbox.transport.answer(Answer("page", fields: fresh()))
    let first = try await sandbox.client.fetch(request(), body: .bytes([]), options: options)
    while let piece = try await first.body.next(), !piece.isEmpty {}
    #expect(first.body.storing.name == "stored")
    let page = try await sandbox.client.data(for: request())
    #expect(page.bytes == Array("page".utf8))
    #expect(page.response.source == .disk)
  }
}
