import ClientTesting
import Foundation
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct RedirectionTests {
  private typealias Answer = ScriptedTransport.Answer

  /// Redirects from each path to another place; all else is an answer with its own URL as body.
  private func transport(_ places: [String: String], status: Int = 302) -> ScriptedTransport {
    ScriptedTransport { request in
      guard let place = places[request.url.target] else {
        return .success(Answer(request.url.string))
      }
      return .success(Answer("moved", status: status, fields: [HTTPField("Location", place)]))
    }
  }

  @Test func `a chain is followed to its end, each step through the store`() async throws {
    let sandbox = try ClientSandbox(
      transport(["/a": "/b", "/b": "c?x#part", "/c?x": "//example.com/d"], status: 301))
    for _ in 0..<2 {
      let result = try await sandbox.client.data(for: request())
      #expect(result.bytes == Array("http://example.com/d".utf8))
      #expect(result.response.url.string == "http://example.com/d")
      #expect(result.response.request.fields.isEmpty)
    }
    #expect(sandbox.transport.requests.map(\.url.target).prefix(4) == ["/a", "/b", "/c?x", "/d"])
    #expect(sandbox.store.contains("GET http://example.com/b"))
  }

  @Test func `a Location that is not UTF-8 is followed by its bytes`() async throws {
    let place = HTTPField(name: "Location", value: Array("/caf".utf8) + [0xE9])
    let sandbox = try ClientSandbox(
      ScriptedTransport { request in
        request.url.target == "/a"
          ? .success(Answer("moved", status: 302, fields: [place]))
          : .success(Answer(request.url.string))
      })
    let result = try await sandbox.client.data(for: request())
    #expect(result.response.url.target == "/caf%E9")
  }

  @Test func `a loop ends in an error, after as many redirects as are allowed`() async throws {
    let sandbox = try ClientSandbox(transport(["/a": "/b", "/b": "/a"]))
    for maximum in [1, 7, 20] {
      let before = sandbox.transport.requests.count
      let error = await sandbox.outcome(request(), FetchOptions(maximumRedirects: maximum)).error
      #expect(error?.url == request().url.string)
      #expect(error?.cause == .tooManyRedirects(maximum: maximum))
      #expect(sandbox.transport.requests.count - before == maximum + 1)
    }
  }

  @Test func `the last redirect that is allowed is followed, and 0 hands the first one over`()
    async throws
  {
    let sandbox = try ClientSandbox(transport(["/a": "/b"]))
    let one = try await sandbox.client.data(
      for: request(), options: FetchOptions(maximumRedirects: 1))
    #expect(one.response.head.status == 200)
    for maximum in [0, -1] {
      let none = try await sandbox.client.data(
        for: request(), options: FetchOptions(maximumRedirects: maximum))
      #expect(none.response.head.status == 302)
      #expect(none.bytes == Array("moved".utf8))
    }
  }

  @Test(
    arguments: [
      ("/b", true), ("http://EXAMPLE.com:80/b", true), ("http://other.example/b", false),
      ("https://example.com/b", false), ("http://example.com:8080/b", false),
      ("//example.com.evil.example/b", false), ("http://user:pass@example.com/b", true),
      ("http://example.com@evil.example/b", false),
    ])
  func `to another origin go only fields that are known to be harmless`(
    location: String, isSent: Bool
  ) async throws {
    let sandbox = try ClientSandbox(transport(["/a": location]))
    let secret = [
      "Authorization", "cookie", "Proxy-Authorization", "X-Api-Key", "Private-Token",
      "X-Auth-Token", "X-Amz-Security-Token", "X-A", "Origin", "From",
    ]
    let harmless = ["Accept-Language", "user-agent", "Range", "If-None-Match"]
    var fields = HTTPFields((secret + harmless).map { HTTPField($0, "1") })
    fields.append(HTTPField("Referer", "http://example.com/?token=secret"))
    _ = try await sandbox.client.data(for: request("/a", fields))
    let second = try #require(sandbox.transport.requests.last)
    #expect(second.url.target == "/b")
    for name in secret + ["Referer"] { #expect(second.fields.contains(name) == isSent, "\(name)") }
    for name in harmless { #expect(second.fields.contains(name), "\(name)") }
    #expect(!second.url.string.contains("pass"))
  }

  @Test(arguments: [false, true], [false, true])
  func `from https to http it goes only where that is allowed`(
    byClient: Bool, byRequest: Bool
  ) async throws {
    var clientOptions = ClientOptions()
    clientOptions.transport.allowsInsecureRedirects = byClient
    let places = ["/a": "http://example.com/b"]
    let sandbox = try ClientSandbox(transport(places, status: 301), clientOptions)
    let secure = HTTPRequest(url: try NormalizedURL("https://example.com/a"))
    var options = FetchOptions(transport: clientOptions.transport)
    options.transport?.allowsInsecureRedirects = byRequest
    // Also where the redirect is stored.
    for _ in 0..<2 {
      let outcome = await sandbox.outcome(secure, options)
      if byClient || byRequest {
        #expect(outcome.bytes == Array("http://example.com/b".utf8))
        continue
      }
      let error = TransportError(.insecureRedirect, url: secure.url.string)
      #expect(outcome.error == ClientError(.transport(error), url: secure.url.string))
      #expect(outcome.error?.description.contains("to http://example.com/b") == true)
      #expect(!sandbox.transport.requests.contains { $0.url.scheme == .http })
      #expect(sandbox.client.storedAnswer(to: secure, options: options) == nil)
    }
    var other = options
    other.maximumRedirects = 0
    #expect(try await sandbox.client.fetch(secure, options: other).head.status == 301)
  }

  @Test func `neither a download nor a question for updates goes from https to http`()
    async throws
  {
    let transport = transport(["/a": "http://example.com/b"])
    let secure = HTTPRequest(url: try NormalizedURL("https://example.com/a"))
    let error = TransportError(.insecureRedirect, url: secure.url.string)
    let folder = TemporaryFolder()
    let failure = await #expect(throws: DownloadError.self) {
      try await Downloader(transport: transport)
        .download(DownloadRequest(secure, to: folder.path + "/file"))
    }
    #expect(failure?.cause == .transport(error))
    let sandbox = try ClientSandbox(Answer("x", fields: fresh()))
    _ = try await sandbox.client.data(for: secure)
    sandbox.transport.set { _ in
      .success(
        Answer("", status: 302, fields: [HTTPField("Location", "http://example.com/b")]))
    }
    let problem = await #expect(throws: ClientError.self) {
      try await sandbox.client.updateState(of: secure)
    }
    #expect(problem?.cause == .transport(error))
    for used in [transport, sandbox.transport] {
      #expect(!used.requests.contains { $0.url.scheme == .http })
    }
  }

  @Test(
    arguments: [
      (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"),
      (308, "POST", "POST"), (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"),
      (303, "HEAD", "HEAD"), (307, "HEAD", "HEAD"), (303, "GET", "GET"),
    ])
  func `the method and the body go on as the status says`(status: Int, method: String, next: String)
    async throws
  {
    let sandbox = try ClientSandbox(transport(["/a": "/b"], status: status))
    let hasBody = method != "GET" && method != "HEAD"
    let fields: HTTPFields = hasBody ? [HTTPField("Content-Type", "text/plain")] : []
    let response = try await sandbox.client.fetch(
      request("/a", fields, method: method), body: hasBody ? .bytes([1, 2]) : nil)
    #expect(response.head.status == 200)
    let second = try #require(sandbox.transport.requests.last)
    #expect(second.method.rawValue == next)
    let keepsBody = hasBody && next == method
    #expect(second.fields.contains("Content-Type") == keepsBody)
    #expect(sandbox.transport.uploads.count == (keepsBody ? 2 : hasBody ? 1 : 0))
    #expect(sandbox.transport.uploads.allSatisfy { $0 == [1, 2] })
  }

  @Test func `a body that was a stream cannot be sent again, so the redirect is handed over`()
    async throws
  {
    for (status, handedOver) in [(307, true), (308, true), (303, false)] {
      let sandbox = try ClientSandbox(transport(["/a": "/b"], status: status))
      let response = try await sandbox.client.fetch(
        request(method: "POST"), body: .stream(length: 2, ScriptedSource([[1], [2]])))
      #expect((response.head.status == status) == handedOver)
      #expect(sandbox.transport.uploads == [[1, 2]])
    }
  }

  @Test(
    arguments: [
      "ftp://example.com/b", "javascript:alert(1)", "file:///etc/passwd", "http://", "http:///b",
      "http://example.com:99999/b", "http://exa mple.com/", "http://[::1", "/\u{1}", "/b\r\nX: y",
      "mailto:x", "http:b", String(repeating: "/x", count: 40_000),
    ])
  func `a redirect to nowhere is handed over`(location: String) async throws {
    let sandbox = try ClientSandbox(transport(["/a": location]))
    let result = try await sandbox.client.data(for: request())
    #expect(result.response.head.status == 302)
    #expect(result.bytes == Array("moved".utf8))
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `an answer without Location, or with another status, is no redirect`() async throws {
    for (status, fields) in [
      (302, []), (300, [HTTPField("Location", "/b")]), (304, [HTTPField("Location", "/b")]),
      (201, [HTTPField("Location", "/b")]),
    ] as [(Int, HTTPFields)] {
      let sandbox = try ClientSandbox(Answer("x", status: status, fields: fields))
      let asked = request("/a", [HTTPField("If-None-Match", "\"1\"")])
      #expect(try await sandbox.client.fetch(asked).head.status == status)
      #expect(sandbox.transport.requests.count == 1)
    }
  }

  @Test func `the endless body of a redirect is let go of`() async throws {
    let transport = ScriptedTransport { request in
      if request.url.target == "/b" { return .success(Answer("x")) }
      var answer = Answer(pieces(Array(repeating: 50_000, count: 100)))
      answer.status = 302
      answer.fields = [HTTPField("Location", "/b")]
      return .success(answer)
    }
    let sandbox = try ClientSandbox(transport)
    #expect(try await sandbox.client.data(for: request()).bytes == [0x78])
    #expect(transport.bodies[0].isCancelled)
    #expect(transport.bodies[0].taken <= 3)
  }
}
