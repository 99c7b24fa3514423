import ClientTesting
import Foundation
import Testing

@testable import CacheClient

/// Answers from substitutes through a client. Its clock says January 2027, files are of 2026.
@Suite(.timeLimit(.minutes(5))) struct CachingClientSubstitutesTests {
  private let folder = SubstituteFolder()

  private func sandbox(
    _ text: String = "local", yields: Bool = false,
    lifetime: SubstituteRule.Lifetime = .seconds(60),
    network: ScriptedTransport.Answer = .init("remote", fields: fresh(10))
  ) throws -> ClientSandbox {
    let path = try folder.write("a.txt", text)
    var options = ClientOptions()
    options.substitutes = try Substitutes([
      SubstituteRule(
        "http://example.com/a", .file(path), lifetime: lifetime, yieldsToNewer: yields)
    ])
    return try ClientSandbox(ScriptedTransport(network), options)
  }

  private func get(
    _ sandbox: ClientSandbox, _ fields: HTTPFields = [], _ policy: CachePolicy = .protocolRules,
    method: String = "GET", path: String = "/a"
  ) async throws -> (text: String, response: ClientResponse) {
    let (bytes, response) = try await sandbox.client.data(
      for: request(path, fields, method: method), options: FetchOptions(policy: policy))
    return (String(decoding: bytes, as: UTF8.self), response)
  }

  @Test func `a substitute answers at once, without the network, and says so`() async throws {
    let sandbox = try sandbox()
    let (text, response) = try await get(sandbox)
    #expect(text == "local")
    #expect(response.source == .substitute)
    #expect(response.reason == nil)
    #expect(response.entry == nil)
    #expect(
      response.cacheStatus.description
        == "OfflineCache; hit; ttl=60; detail=\"substitute\"")
    let fields = response.head.fields
    #expect(response.head.status == 200)
    #expect(fields.first(named: "Content-Type")?.text == "text/plain; charset=utf-8")
    #expect(fields.first(named: "Content-Length")?.text == "5")
    #expect(fields.first(named: "Last-Modified")?.text == "Mon, 21 Sep 2026 14:13:20 GMT")
    #expect(fields.first(named: "Date")?.text == "Fri, 15 Jan 2027 08:00:00 GMT")
    #expect(fields.first(named: "Cache-Control")?.text == "max-age=60")
    #expect(sandbox.client.storedAnswer(to: request())?.source == .substitute)
    #expect(sandbox.transport.requests.isEmpty)
    // It is there however much time passes.
    sandbox.clock.advance(bySeconds: 10_000_000)
    #expect(try await get(sandbox).text == "local")
  }

  @Test func `it shows the request of the caller, without the name of a credential`() async throws {
    let sandbox = try sandbox()
    sandbox.client.use(.password(user: "u", password: "p"), for: request().url)
    let stored = try #require(sandbox.client.storedAnswer(to: request()))
    #expect(stored.request.fields.isEmpty)
    #expect(try await get(sandbox).response.request.fields.isEmpty)
  }

  @Test func `what is fresh for ever says so`() async throws {
    let sandbox = try sandbox(lifetime: .always)
    #expect(
      try await get(sandbox).response.head.fields.first(named: "Cache-Control")?.text
        == "max-age=31536000, immutable")
  }

  @Test(arguments: ["HEAD", "GET"])
  func `conditions are judged, with 304 where they hold`(method: String) async throws {
    let sandbox = try sandbox()
    let first = try await get(sandbox).response.head.fields
    let tag = try #require(first.first(named: "ETag"))
    let date = try #require(first.first(named: "Last-Modified"))
    for condition in [
      HTTPField(name: "If-None-Match", value: tag.value),
      HTTPField(name: "If-Modified-Since", value: date.value),
    ] {
      let (text, response) = try await get(sandbox, [condition], method: method)
      #expect(response.head.status == 304)
      #expect(text.isEmpty)
      #expect(response.head.fields.first(named: "Content-Length") == nil)
      #expect(response.substituteLength == 5)
    }
    let other = try await get(sandbox, [HTTPField("If-None-Match", "\"x\"")], method: method)
    #expect(other.response.head.status == 200)
    #expect(other.text == (method == "GET" ? "local" : ""))
    #expect(other.response.head.fields.first(named: "Content-Length")?.text == "5")
  }

  @Test(arguments: [0, 100_000])
  func `ranges are 206 with the right bytes, of short and of long files`(more: Int) async throws {
    let content = "0123456789" + String(repeating: "x", count: more)
    let sandbox = try sandbox(content)
    let fields = try await get(sandbox).response.head.fields
    for (wish, name, bytes) in [
      ("bytes=2-4", "ETag", "234"), ("bytes=-1", "Last-Modified", String(content.suffix(1))),
    ] {
      let validator = try #require(fields.first(named: name)).text
      let (text, response) = try await get(
        sandbox, [HTTPField("Range", wish), HTTPField("If-Range", validator)])
      #expect(response.head.status == 206)
      #expect(text == bytes)
      #expect(
        response.head.fields.first(named: "Content-Range")?.text.hasSuffix("/\(10 + more)") == true)
    }
    let old = try await get(
      sandbox, [HTTPField("Range", "bytes=2-4"), HTTPField("If-Range", "\"old\"")])
    #expect(old.response.head.status == 200)
    #expect(old.text == content)
    let beyond = try await get(sandbox, [HTTPField("Range", "bytes=999999-")])
    #expect(beyond.response.head.status == 416)
    #expect(
      beyond.response.head.fields.first(named: "Content-Range")?.text == "bytes */\(10 + more)")
  }

  @Test func `the tag follows the content of a short file, and that and the time of a long one`()
    async throws
  {
    for length in [5, 200_000] {
      let sandbox = try sandbox(String(repeating: "a", count: length))
      var tags: [String] = []
      for (number, letter) in ["a", "b", "a"].enumerated() {
        let time = 1_790_000_000 + (length > 5 ? number : 0)
        try folder.write("a.txt", String(repeating: letter, count: length), modified: time)
        let tag = try await get(sandbox, method: "HEAD").response.head.fields.first(named: "ETag")
        tags.append(try #require(tag).text)
      }
      #expect(tags[0] != tags[1])
      #expect(tags[0] == tags[2])
    }
  }

  @Test func `requests for the origin pass it by`() async throws {
    let sandbox = try sandbox()
    let asking: [(HTTPFields, CachePolicy)] = [
      ([], .reload), ([], .reloadFromOrigin), ([], .revalidate),
      ([HTTPField("Cache-Control", "no-cache")], .protocolRules),
      ([HTTPField("Pragma", "no-cache")], .protocolRules),
      ([HTTPField("Cache-Control", "no-store")], .protocolRules),
      ([HTTPField("If-Match", "\"a\"")], .protocolRules),
    ]
    for (fields, policy) in asking {
      #expect(try await get(sandbox, fields, policy).response.source != .substitute)
    }
    for policy in [CachePolicy.storedElseLoad, .storedOnly, .offline] {
      #expect(try await get(sandbox, [], policy).response.source == .substitute)
    }
    let post = try await get(sandbox, method: "POST")
    #expect(post.response.source == .network)
  }

  @Test func `a stored answer that is newer goes first only where the rule says so`() async throws {
    for yields in [false, true] {
      let sandbox = try sandbox(
        yields: yields, network: .init("remote", fields: fresh(10, vary: "Accept-Encoding")))
      #expect(try await get(sandbox).text == "local")
      // Has no Last-Modified: it is as new as its arrival.
      #expect(try await get(sandbox, [], .reload).text == "remote")
      #expect(try await get(sandbox).text == (yields ? "remote" : "local"))
      let stored = sandbox.client.storedAnswer(to: request())?.source
      #expect((stored == .substitute) == !yields)
    }
  }

  @Test func `a stored answer that is older does not`() async throws {
    var fields = fresh(10)
    fields.append(HTTPField("Last-Modified", "Mon, 21 Sep 2020 14:13:20 GMT"))
    let sandbox = try sandbox(yields: true, network: .init("remote", fields: fields))
    #expect(try await get(sandbox, [], .reload).text == "remote")
    #expect(try await get(sandbox).text == "local")
  }

  @Test func `where the newer one cannot be validated the substitute answers`() async throws {
    var fields = fresh(10)
    fields.replace(with: HTTPField("Cache-Control", "max-age=10, must-revalidate"))
    let sandbox = try sandbox(yields: true, network: .init("remote", fields: fields))
    #expect(try await get(sandbox, [], .reload).text == "remote")
    sandbox.clock.advance(bySeconds: 100)
    sandbox.transport.disconnect()
    #expect(try await get(sandbox).text == "local")
    #expect(try await get(sandbox, [], .storedOnly).text == "local")
    let reload = await sandbox.outcome(request(), FetchOptions(policy: .reload))
    #expect(reload.error != nil)
  }

  @Test func `one that is missing is passed over: store and network answer`() async throws {
    let sandbox = try sandbox()
    try folder.remove("a.txt")
    #expect(try await get(sandbox).text == "remote")
    #expect(try await get(sandbox).response.entry != nil)
    let offline = await sandbox.outcome(request("/b"), FetchOptions(policy: .offline))
    #expect(offline.error?.cause == .notStored(.absent))
    try folder.write("a.txt", "again")
    #expect(try await get(sandbox).text == "again")
  }

  @Test func `a redirect may lead to a substitute`() async throws {
    let sandbox = try sandbox(
      network: .init("", status: 302, fields: [HTTPField("Location", "/a")]))
    let (text, response) = try await get(sandbox, path: "/elsewhere")
    #expect(text == "local")
    #expect(response.url.target == "/a")
  }

  @Test func `a long file comes in pieces, and one that is changed meanwhile is no body`()
    async throws
  {
    let content = String(repeating: "0123456789", count: 30_000)
    let sandbox = try sandbox(content)
    #expect(try await get(sandbox).text == content)
    let old = try await sandbox.client.fetch(request())
    #expect(try await old.body.next() != nil)
    // In place, so that it is the same file with other bytes.
    let handle = try #require(FileHandle(forWritingAtPath: "\(folder.path)/a.txt"))
    defer { try? handle.close() }
    handle.write(Data(String(repeating: "abcdefghij", count: 30_000).utf8))
    let cut = try await sandbox.client.fetch(request())
    #expect(try await cut.body.next() != nil)
    try handle.truncate(atOffset: 100_000)
    for response in [old, cut] {
      let error = await #expect(throws: ClientError.self) {
        while try await response.body.next() != nil {}
      }
      guard case .store = error?.cause else {
        Issue.record("\(String(describing: error))")
        continue
      }
    }
  }

  @Test func `a file that is replaced while it is read is read to its end`() async throws {
    let content = String(repeating: "0123456789", count: 30_000)
    let sandbox = try sandbox(content)
    let response = try await sandbox.client.fetch(request())
    var bytes = try await response.body.next() ?? []
    let other = try folder.write("new", "new")
    #expect(unsafe rename(other, "\(folder.path)/a.txt") == 0)
    #expect(try await get(sandbox).text == "new")
    while let piece = try await response.body.next() { bytes += piece }
    #expect(String(decoding: bytes, as: UTF8.self) == content)
  }

  @Test func `a body beyond the limit is an error`() async throws {
    let sandbox = try sandbox(String(repeating: "x", count: 100_000))
    let error = await #expect(throws: ClientError.self) {
      try await sandbox.client.data(for: request(), limit: 99_999)
    }
    #expect(error?.cause == .tooLarge(limit: 99_999))
  }
}
