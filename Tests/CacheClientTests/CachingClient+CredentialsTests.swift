import CacheSystem
import ClientTesting
import MessageDigests
import Synchronization
import Testing

@testable import CacheClient
@testable import HTTPAuthentication

struct CachingClientCredentialsTests {
  private static let right = Credential.password(
    user: GuardedOrigin.user, password: GuardedOrigin.password)
  private static let wrong = Credential.password(user: "u", password: "no")

  private func sandbox(
    _ origin: GuardedOrigin, _ answers: ScriptedProvider?
  ) throws -> ClientSandbox {
    try ClientSandbox(
      ScriptedTransport { .success(origin.answer($0)) },
      ClientOptions(credentials: answers?.provider))
  }

  /// Fetches many pages at once, and expects that all are there.
  private func expectAll(_ count: Int, below path: String, of sandbox: ClientSandbox) async throws {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<count {
        group.addTask { try await fetch(sandbox, request("\(path)\(number)")).status }
      }
      for try await status in group { #expect(status == 200) }
    }
  }

  /// Returns status and text of an answer.
  private func fetch(
    _ sandbox: ClientSandbox, _ request: HTTPRequest, _ options: FetchOptions = FetchOptions(),
    body: RequestBody? = nil
  ) async throws -> (status: Int, text: String) {
    let response = try await sandbox.client.fetch(request, body: body, options: options)
    let bytes = try await sandbox.client.wholeBody(of: response)
    return (response.head.status, String(decoding: bytes, as: UTF8.self))
  }

  @Test func `a redirect is not followed after a log-out`() async throws {
    let client = Mutex<CachingClient?>(nil)
    var options = ClientOptions()
    options.mayReturnStored = { _, _ in
      client.withLock { $0?.logOuts.add() }
      return true
    }
    let redirect = ScriptedTransport.Answer(
      status: 302, fields: HTTPFields(Array(fresh()) + [HTTPField("Location", "/b")]))
    let sandbox = try ClientSandbox(ScriptedTransport(redirect), options)
    _ = await sandbox.outcome(request("/a"), FetchOptions(maximumRedirects: 0))
    client.withLock { $0 = sandbox.client }
    #expect(await sandbox.outcome(request("/a")).error?.isCancellation == true)
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `an answer that comes after a log-out is not returned`() async throws {
    let sandbox = try ClientSandbox(ScriptedTransport.Answer("secret", fields: fresh()))
    sandbox.transport.set { [client = sandbox.client] _ in
      client.logOuts.add()
      return .success(ScriptedTransport.Answer("without a credential", fields: fresh()))
    }
    #expect(await sandbox.outcome(request("/a")).error?.isCancellation == true)
    #expect(sandbox.transport.bodies.map(\.isCancelled) == [true])
    #expect(sandbox.store.statistics.entries == 0)
  }

  @Test func `the answer to a POST that comes after a log-out invalidates what is stored`()
    async throws
  {
    let sandbox = try ClientSandbox(ScriptedTransport.Answer("old", fields: fresh()))
    _ = await sandbox.outcome(request("/a"))
    #expect(sandbox.client.storedAnswer(to: request("/a")) != nil)
    sandbox.transport.set { [client = sandbox.client] _ in
      client.logOuts.add()
      return .success(ScriptedTransport.Answer("done", fields: fresh()))
    }
    let post = HTTPRequest(method: .post, url: request("/a").url)
    #expect(await sandbox.outcome(post).error?.isCancellation == true)
    #expect(sandbox.client.storedAnswer(to: request("/a")) == nil)
  }

  @Test(
    "a challenge is answered, and what was right is sent unasked afterwards",
    arguments: [
      Guard.basic, .digest(.md5, isSession: false), .digest(.sha256, isSession: false),
      .digest(.md5, isSession: true), .digest(.sha256, isSession: true),
    ])
  func session(kind: Guard) async throws {
    let origin = GuardedOrigin(kind)
    let answers = ScriptedProvider(.use(Self.right))
    let sandbox = try sandbox(origin, answers)
    for path in ["/a/1", "/a/2", "/a/b/3"] {
      #expect(try await fetch(sandbox, request(path)) == (200, "secret"))
    }
    #expect(answers.challenges.count == 1)
    #expect(answers.challenges.first?.failures == 0)
    #expect(answers.challenges.first?.url == request("/a/1").url)
    #expect(sandbox.transport.requests.count == 4)
    if case .digest = kind { #expect(origin.counts == ["00000001", "00000002", "00000003"]) }
  }

  @Test("a token goes by Bearer")
  func bearer() async throws {
    let answers = ScriptedProvider(.use(.token("abc.def")))
    let sandbox = try sandbox(GuardedOrigin(.bearer), answers)
    #expect(try await fetch(sandbox, request("/a/1")) == (200, "secret"))
    #expect(try await fetch(sandbox, request("/a/2")) == (200, "secret"))
    #expect(answers.challenges.map(\.scheme) == [.bearer])
    #expect(sandbox.transport.requests.count == 3)
  }

  @Test("a stored 401 is not the answer where a credential may be found")
  func storedRefusal() async throws {
    var refusal = ScriptedTransport.Answer("who", status: 401, fields: fresh())
    refusal.fields.append(HTTPField("WWW-Authenticate", "Basic realm=\"r\""))
    let transport = ScriptedTransport { [refusal] request in
      .success(request.fields.contains("Authorization") ? .init("secret") : refusal)
    }
    let answers = ScriptedProvider(.goOnWithout, .use(Self.right))
    let sandbox = try ClientSandbox(transport, ClientOptions(credentials: answers.provider))
    #expect(try await fetch(sandbox, request()) == (401, "who"))
    #expect(sandbox.client.storedAnswer(to: request()) == nil)
    let stored = FetchOptions(policy: .storedOnly)
    #expect(sandbox.client.storedAnswer(to: request(), options: stored)?.head.status == 401)
    #expect(try await fetch(sandbox, request()) == (200, "secret"))
  }

  @Test("three are tried, then the 401 is the answer")
  func threeTries() async throws {
    let answers = ScriptedProvider(.use(Self.wrong))
    let sandbox = try sandbox(GuardedOrigin(.basic), answers)
    #expect(try await fetch(sandbox, request()) == (401, "who are you"))
    #expect(answers.challenges.map(\.failures) == [0, 1, 2])
    #expect(answers.challenges.map(\.refused) == [nil, Self.wrong, Self.wrong])
    #expect(try await fetch(sandbox, request()).status == 401)
    #expect(answers.challenges.count == 6)
  }

  @Test("a password that is sent unasked, as in a URL, goes by Digest once a server wants that")
  func unasked() async throws {
    let origin = GuardedOrigin(.digest(.sha256, isSession: false))
    let sandbox = try sandbox(origin, nil)
    let options = FetchOptions(
      credential: .password(
        user: GuardedOrigin.user, password: GuardedOrigin.password, persistence: .request,
        sendsBasicUnasked: true))
    #expect(try await fetch(sandbox, request("/a"), options).text == "secret")
    #expect(try await fetch(sandbox, request("/b"), options).text == "secret")
    let sent = sandbox.transport.requests.compactMap {
      $0.fields.first(named: "Authorization")?.text.prefix { $0 != " " }
    }
    #expect(sent == ["Basic", "Digest", "Digest"])
    #expect(try await fetch(sandbox, request("/c")).status == 401)
  }

  @Test("the second may be right", arguments: [Guard.basic, .digest(.sha256, isSession: false)])
  func secondTry(kind: Guard) async throws {
    let answers = ScriptedProvider(.use(Self.wrong), .use(Self.right))
    let sandbox = try sandbox(GuardedOrigin(kind), answers)
    #expect(try await fetch(sandbox, request()) == (200, "secret"))
    #expect(answers.challenges.map(\.failures) == [0, 1])
  }

  @Test("who has nothing to say gets the 401, as does a client that nobody answers for")
  func declined() async throws {
    let answers = ScriptedProvider(.goOnWithout)
    let sandbox = try sandbox(GuardedOrigin(.basic), answers)
    #expect(try await fetch(sandbox, request()).status == 401)
    #expect(answers.challenges.count == 1)
    let alone = try self.sandbox(GuardedOrigin(.basic), nil)
    #expect(try await fetch(alone, request()).status == 401)
    #expect(alone.transport.requests.count == 1)
  }

  @Test("what is for one request is asked for again with the next")
  func oneRequest() async throws {
    let answers = ScriptedProvider(
      .use(
        .password(
          user: GuardedOrigin.user, password: GuardedOrigin.password, persistence: .request)))
    let sandbox = try sandbox(GuardedOrigin(.basic), answers)
    for path in ["/a", "/b"] {
      #expect(try await fetch(sandbox, request(path)) == (200, "secret"))
    }
    #expect(answers.challenges.count == 2)
  }

  @Test("a caller that is cancelled does not wait for the user's answer")
  func cancelledQuestion() async throws {
    let (asked, isAsked) = AsyncStream.makeStream(of: Void.self)
    let answer = Gate()
    let sandbox = try ClientSandbox(
      ScriptedTransport { [origin = GuardedOrigin(.basic)] in .success(origin.answer($0)) },
      ClientOptions(credentials: { _ in
        isAsked.yield()
        _ = await answer.pass()
        return .use(Self.right)
      }))
    let task = Task { try await fetch(sandbox, request()).status }
    for await _ in asked { break }
    task.cancel()
    do {
      let status = try await task.value
      Issue.record("it was answered with \(status)")
    } catch let error as ClientError {
      guard case .transport(let cause) = error.cause, cause.code == .cancelled else {
        Issue.record("\(error)")
        return
      }
    }
    answer.open()
  }

  @Test("many that are asked at once wait for one answer")
  func manyAtOnce() async throws {
    let answers = ScriptedProvider(.use(Self.right))
    let sandbox = try sandbox(GuardedOrigin(.basic), answers)
    try await expectAll(50, below: "/x/", of: sandbox)
    #expect(answers.challenges.count == 1)
  }

  @Test("what is stored for one user is not given to another one, nor to nobody")
  func users() async throws {
    let sandbox = try ClientSandbox(
      ScriptedTransport { request in
        let who = request.fields.first(named: "Authorization")?.text
        guard let who else {
          return .success(
            .init("", status: 401, fields: [HTTPField("WWW-Authenticate", "Basic realm=r")]))
        }
        return .success(.init("for \(who)", fields: fresh()))
      })
    let client = sandbox.client
    var texts: [String] = []
    for user in ["alice", "bob", "alice", "bob"] {
      try await client.forgetCredentials()
      client.use(.password(user: user, password: "p"), for: request("/").url)
      texts.append(try await fetch(sandbox, request("/a")).text)
    }
    #expect(texts[0] != texts[1])
    #expect(texts[0] == texts[2] && texts[1] == texts[3])
    // The last two came from the store; 401 and answer for each user.
    #expect(sandbox.transport.requests.count == 4)
    // Offline, each has what is stored for that user.
    let offline = FetchOptions(policy: .offline)
    #expect(try await fetch(sandbox, request("/a"), offline).text == texts[1])
    #expect(
      client.storedAnswer(to: request("/a"), options: offline)?.request.fields.contains(
        "Authorization") == false)
    try await client.forgetCredentials()
    #expect(client.storedAnswer(to: request("/a"), options: offline) == nil)
    client.use(.password(user: "alice", password: "other"), for: request("/").url)
    #expect(client.storedAnswer(to: request("/a"), options: offline) == nil)
  }

  @Test("an answer by Digest is found again, though no two requests are the same")
  func digestHits() async throws {
    let sandbox = try sandbox(
      GuardedOrigin(.digest(.sha256, isSession: false)), ScriptedProvider(.use(Self.right)))
    for _ in 0..<3 { #expect(try await fetch(sandbox, request("/a")).text == "secret") }
    #expect(sandbox.transport.requests.count == 2)
  }

  @Test("credentials stay with their origin through redirects")
  func redirects() async throws {
    let sandbox = try ClientSandbox(
      ScriptedTransport { request in
        let hasSome = request.fields.contains("Authorization")
        switch (request.url.host, request.url.target) {
        case ("example.com", "/here"):
          return .success(.init("", status: 302, fields: [HTTPField("Location", "/there")]))
        case ("example.com", "/there") where hasSome:
          let away = HTTPField("Location", "http://other.example/")
          return .success(.init("", status: 302, fields: [away]))
        case ("other.example", _): return .success(.init(hasSome ? "leaked" : "clean"))
        default:
          return .success(
            .init("", status: 401, fields: [HTTPField("WWW-Authenticate", "Basic realm=r")]))
        }
      }, ClientOptions(credentials: ScriptedProvider(.use(Self.right)).provider))
    #expect(try await fetch(sandbox, request("/here")) == (200, "clean"))
    // A token would be sent without a question.
    for credential in [Self.right, .token("t")] {
      let options = FetchOptions(credential: credential)
      #expect(try await fetch(sandbox, request("/here"), options) == (200, "clean"))
    }
  }

  @Test("a stale answer is validated in the background with the credential that it is for")
  func background() async throws {
    let credential = Credential.password(
      user: "u", password: "p", persistence: .request, sendsBasicUnasked: true)
    let served = Mutex(0)
    let sandbox = try ClientSandbox(
      ScriptedTransport { request in
        guard request.fields.contains("Authorization") else {
          return .success(.init("", status: 401))
        }
        let number = served.withLock { served in
          served += 1
          return served
        }
        let field = HTTPField("Cache-Control", "max-age=10, stale-while-revalidate=100")
        return .success(.init("\(number)", fields: [field]))
      })
    let options = FetchOptions(credential: credential)
    #expect(try await fetch(sandbox, request(), options).text == "1")
    sandbox.clock.advance(bySeconds: 20)
    #expect(sandbox.client.storedAnswer(to: request(), options: options) != nil)
    await sandbox.client.waitForBackground()
    #expect(served.withLock { $0 } == 2)
    sandbox.clock.advance(bySeconds: 20)
    #expect(try await fetch(sandbox, request(), options).text == "2")
    await sandbox.client.waitForBackground()
    #expect(served.withLock { $0 } == 3)
  }

  @Test("the request of an answer is the caller's, without the name of a credential")
  func answeredRequest() async throws {
    let sandbox = try ClientSandbox(.init("text", fields: fresh()))
    let credential = Credential.password(
      user: "u", password: "p", persistence: .request, sendsBasicUnasked: true)
    for decodes in [true, false] {
      let options = FetchOptions(decodesContent: decodes, credential: credential)
      let result = try await sandbox.client.data(for: request(), options: options)
      #expect(result.response.request.fields.isEmpty)
      let stored = try #require(sandbox.client.storedAnswer(to: request(), options: options))
      #expect(stored.request.fields.isEmpty)
    }
  }

  @Test("what goes around the store has the client's credentials, too")
  func aroundTheStore() async throws {
    let answers = ScriptedProvider(.use(Self.right))
    let sandbox = try sandbox(GuardedOrigin(.digest(.sha256, isSession: false)), answers)
    for path in ["/a", "/b"] {
      let answer = try await sandbox.client.transport.send(request(path))
      #expect(answer.head.status == 200)
    }
    #expect(try await fetch(sandbox, request("/c")).text == "secret")
    #expect(answers.challenges.count == 1)
  }

  @Test("an Authorization of the caller's own is the caller's affair")
  func ownField() async throws {
    let answers = ScriptedProvider(.use(Self.right))
    let sandbox = try sandbox(GuardedOrigin(.basic), answers)
    let asked = request("/a", [HTTPField("Authorization", "Basic eDp5")])
    #expect(try await fetch(sandbox, asked).status == 401)
    #expect(answers.challenges.isEmpty)
    #expect(sandbox.transport.requests.map(\.fields).allSatisfy { $0.contains("Authorization") })
  }

  @Test("a log-in that is cancelled is an error, and nothing that is stored stands in for it")
  func cancelled() async throws {
    let questions = Mutex(0)
    let origin = GuardedOrigin(.basic)
    let sandbox = try ClientSandbox(
      ScriptedTransport { .success(origin.answer($0)) },
      ClientOptions(credentials: { _ in
        let isFirst = questions.withLock { count in
          count += 1
          return count == 1
        }
        return isFirst ? .use(Self.right) : .cancel
      }))
    #expect(try await fetch(sandbox, request("/a")) == (200, "secret"))
    try await sandbox.client.forgetCredentials()
    sandbox.clock.advance(bySeconds: 10_000)
    let url = request("/a").url.string
    let expected = ClientError(.transport(TransportError(.loginCancelled, url: url)), url: url)
    await #expect(throws: expected) { try await fetch(sandbox, request("/a")) }
    // Downloads have the same provider.
    let error = await #expect(throws: TransportError.self) {
      try await sandbox.client.transport.send(request("/b"))
    }
    #expect(error?.code == .loginCancelled)
    #expect(questions.withLock { $0 } == 3)
  }
}
