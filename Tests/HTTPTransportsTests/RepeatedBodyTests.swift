import Testing
import TransportTesting

struct RepeatedBodyTests {
  /// Gives one piece, as often as it is asked anew.
  private final class Repeatable: RepeatableBodySource {
    func next() async throws -> [UInt8]? { nil }
    func again() -> any RequestBodySource { Repeatable() }
  }

  @Test func `a body has content unless it is known to be empty`() {
    let source = ScriptedSource.of([])
    let bodies: [(RequestBody?, Bool)] = [
      (nil, false), (.bytes([]), false), (.bytes([0]), true), (.stream(length: 0, source), false),
      (.stream(length: 1, source), true), (.stream(length: nil, source), true),
    ]
    for (body, hasContent) in bodies { #expect(body.hasContent == hasContent) }
  }

  @Test func `a stream is sent again only by a source of its own`() throws {
    let none: RequestBody? = nil
    #expect(try #require(none.repeated).body == nil)
    let bytes = try #require(Optional(RequestBody.bytes([1, 2])).repeated)
    guard case .bytes([1, 2])? = bytes.body else {
      Issue.record("\(String(describing: bytes.body))")
      return
    }
    #expect(Optional(RequestBody.stream(length: 3, ScriptedSource.of([]))).repeated == nil)
    let source = Repeatable()
    let again = try #require(Optional(RequestBody.stream(length: 3, source)).repeated)
    guard case .stream(length: 3, let other)? = again.body else {
      Issue.record("\(String(describing: again.body))")
      return
    }
    #expect(other !== source)
  }
}
