import CacheSystem
import ClientTesting
import MessageDigests
import Synchronization
import Testing

@testable import HTTPAuthentication

@Suite(.timeLimit(.minutes(5)))
struct AuthenticatingTransportTests {
  private static let right = Credential.password(
    user: GuardedOrigin.user, password: GuardedOrigin.password)
  private static let wrong = Credential.password(user: "u", password: "no")

  /// A transport that logs in, and the script below it.
  private struct Sandbox {
    let transport: ScriptedTransport
    let login: any HTTPTransport

    init(_ transport: ScriptedTransport, _ answers: ScriptedProvider) {
      self.transport = transport
      login = transport.loggingIn(answers.provider)
    }

    init(_ origin: GuardedOrigin, _ answers: ScriptedProvider) {
      self.init(ScriptedTransport { .success(origin.answer($0)) }, answers)
    }

    /// Returns the status of an answer.
    func fetch(_ request: HTTPRequest, body: RequestBody? = nil) async throws -> Int {
      let response = try await login.send(
        request, body: body, options: TransportOptions()
      ) { _ in }
      while try await response.body.next() != nil {}
      return response.head.status
    }
  }

  @Test func `a wrong password is sent once by Digest, too`() async throws {
    let sandbox = Sandbox(
      GuardedOrigin(.digest(.sha256, isSession: false)),
      ScriptedProvider(.use(Self.wrong), .goOnWithout))
    #expect(try await sandbox.fetch(request()) == 401)
    let sent = sandbox.transport.requests.filter { $0.fields.contains("Authorization") }
    #expect(sent.count == 1 && sandbox.transport.requests.count == 2)
  }

  @Test(arguments: [true, false])
  func `a nonce that is too old is replaced without asking anybody`(isTold: Bool) async throws {
    let origin = GuardedOrigin(.digest(.sha256, isSession: false), usesPerNonce: isTold ? 2 : .max)
    let answers = ScriptedProvider(.use(Self.right))
    let sandbox = Sandbox(origin, answers)
    for number in 0..<7 {
      #expect(try await sandbox.fetch(request("/\(number)")) == 200)
      if !isTold { origin.renewNonce() }
    }
    #expect(answers.challenges.count == 1)
  }

  @Test func `a request is repeated without its credential once that is forgotten`() async throws {
    let session = CredentialSession()
    let origin = GuardedOrigin(.digest(.sha256, isSession: false))
    let scripted = ScriptedTransport { request in
      session.forgetAll()
      return .success(origin.answer(request))
    }
    let transport = AuthenticatingTransport(transport: scripted, session: session)
    session.retain(Self.right)
    let response = try await transport.send(
      AuthenticatingTransport.naming(Self.right, in: request()))
    #expect(response.head.status == 401)
    #expect(scripted.requests.count == 2)
    #expect(!scripted.requests.contains { $0.fields.contains("Authorization") })
  }

  @Test(arguments: [Credential.Persistence.request, .session])
  func `a credential that comes after a log-out is not sent`(
    _ persistence: Credential.Persistence
  ) async throws {
    let credential = Credential.password(
      user: GuardedOrigin.user, password: GuardedOrigin.password, persistence: persistence)
    let answers = ScriptedProvider(.use(credential))
    let authenticator = Authenticator(provider: answers.provider)
    answers.wait { authenticator.session.forgetAll() }
    let origin = GuardedOrigin(.basic)
    let scripted = ScriptedTransport { .success(origin.answer($0)) }
    let transport = LoginTransport(
      transport: AuthenticatingTransport(transport: scripted, session: authenticator.session),
      authenticator: authenticator)
    #expect(try await transport.send(request()).head.status == 401)
    #expect(scripted.requests.count == 1)
  }

  @Test func `the key of a session is made once for a nonce`() async throws {
    let sandbox = Sandbox(
      GuardedOrigin(.digest(.sha256, isSession: true)), ScriptedProvider(.use(Self.right)))
    for path in ["/a", "/b"] { #expect(try await sandbox.fetch(request(path)) == 200) }
    #expect(sandbox.transport.requests.count == 3)
  }

  @Test func `a password is not given up for nonces that are good for one request each`()
    async throws
  {
    let origin = GuardedOrigin(.digest(.sha256, isSession: false), hasOneTimeNonces: true)
    let answers = ScriptedProvider(.use(Self.right))
    let waves = Waves()
    let transport = ScriptedTransport { request in
      var answer = origin.answer(request)
      answer.gates[1] = waves.gate()
      return .success(answer)
    }
    let sandbox = Sandbox(transport, answers)
    for round in 0..<5 {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<20 {
          group.addTask { try await sandbox.fetch(request("/\(round)/\(number)")) }
        }
        for try await status in group { #expect(status == 200) }
      }
    }
    #expect(answers.challenges.count == 1)
  }

  @Test func `a password is not given up for a nonce that another request has used`() async throws {
    let origin = GuardedOrigin(.digest(.sha256, isSession: false), hasOneTimeNonces: true)
    let answers = ScriptedProvider(.use(Self.right))
    let sent = Lock(0)
    let gate = Gate()
    let transport = ScriptedTransport { request in
      guard request.fields.contains("Authorization") else {
        return .success(origin.answer(request))
      }
      let number = sent.withLock { sent in
        sent += 1
        return sent
      }
      if number == 2 { gate.open() }
      guard number == 1 else { return .success(origin.answer(request)) }
      // The second request uses the nonce of the first one, and comes before it.
      var stranger = request
      stranger.fields.removeAll(named: "Authorization")
      var answer = origin.answer(stranger)
      answer.headGate = gate
      return .success(answer)
    }
    let sandbox = Sandbox(transport, answers)
    async let first = sandbox.fetch(request("/1"))
    async let second = sandbox.fetch(request("/2"))
    #expect(try await [first, second] == [200, 200])
    #expect(answers.challenges.count == 1)
  }

  @Test func `a server that finds every nonce too old is left after a few requests`() async throws {
    let origin = GuardedOrigin(.digest(.md5, isSession: false), usesPerNonce: 0)
    let answers = ScriptedProvider(.use(Self.right))
    let sandbox = Sandbox(origin, answers)
    #expect(try await sandbox.fetch(request()) == 401)
    #expect(sandbox.transport.requests.count <= 13)
    // The password was not refused.
    #expect(answers.challenges.count == 1)
  }

  @Test func `a password that went by Digest does not go by Basic because somebody says so`()
    async throws
  {
    let origin = GuardedOrigin(.digest(.sha256, isSession: false))
    let answers = ScriptedProvider(.use(Self.right), .goOnWithout)
    let sandbox = Sandbox(origin, answers)
    #expect(try await sandbox.fetch(request("/a")) == 200)
    sandbox.transport.answer(
      .init("", status: 401, fields: [HTTPField("WWW-Authenticate", "Basic realm=r")]))
    #expect(try await sandbox.fetch(request("/b")) == 401)
    let sent = sandbox.transport.requests.compactMap {
      $0.fields.first(named: "Authorization")?.text
    }
    #expect(!sent.isEmpty && sent.allSatisfy { $0.hasPrefix("Digest ") })
    #expect(answers.challenges.last?.scheme == .basic)
    // Nobody has refused it there.
    #expect(answers.challenges.last?.failures == 0)
    #expect(answers.challenges.last?.refused == nil)
  }

  @Test func `it goes by Basic where whoever is asked says so, and by Digest where that is wanted`()
    async throws
  {
    let digest = GuardedOrigin(.digest(.sha256, isSession: false))
    let basic = GuardedOrigin(.basic)
    let answers = ScriptedProvider(.use(Self.right))
    let sandbox = Sandbox(
      ScriptedTransport {
        .success($0.url.target == "/b" ? basic.answer($0) : digest.answer($0))
      }, answers)
    for target in ["/a", "/b", "/a", "/b"] {
      #expect(try await sandbox.fetch(request(target)) == 200, "\(target)")
    }
    #expect(answers.challenges.map(\.scheme) == [.digest, .basic, .basic])
    #expect(answers.challenges.allSatisfy { $0.failures == 0 })
  }

  @Test func `bytes are sent again with credentials; a stream is not, and the 401 is the answer`()
    async throws
  {
    let sandbox = Sandbox(GuardedOrigin(.basic), ScriptedProvider(.use(Self.right)))
    let post = request("/a", method: "POST")
    #expect(
      try await sandbox.fetch(
        post, body: .stream(length: 3, ScriptedSource([Array("abc".utf8)]))
      ) == 401)
    #expect(try await sandbox.fetch(post, body: .bytes(Array("abc".utf8))) == 200)
    #expect(sandbox.transport.uploads.last == Array("abc".utf8))
    // What is known is sent at once, so now a stream gets through, too.
    #expect(
      try await sandbox.fetch(
        post, body: .stream(length: 3, ScriptedSource([Array("abc".utf8)]))
      ) == 200)
  }

  @Test(arguments: [
    Credential.password(user: "a:b", password: "c"), .token("a\r\nX: y"), .token(""), .token("ü"),
  ])
  func `what cannot be sent is not sent`(credential: Credential) async throws {
    let kind: Guard = credential.bearer == nil && credential.basic == nil ? .bearer : .basic
    let sandbox = Sandbox(GuardedOrigin(kind), ScriptedProvider(.use(credential)))
    #expect(try await sandbox.fetch(request()) == 401)
    #expect(!sandbox.transport.requests.contains { $0.fields.contains("Authorization") })
  }

  private static func head(_ challenges: String...) -> HTTPResponseHead {
    HTTPResponseHead(
      status: 401, fields: HTTPFields(challenges.map { HTTPField("WWW-Authenticate", $0) }))
  }

  @Test func `a password goes by Basic only to a server that asks for that, and once`() {
    func next(_ head: HTTPResponseHead, _ credential: Credential) -> CredentialSession.Way? {
      AuthenticatingTransport.next(after: head, nil, credential)
    }
    let basic = Self.head("Basic realm=r")
    #expect(next(basic, Self.right) == .basic)
    for head in [Self.head("Bearer realm=r"), Self.head("Unknown realm=r"), Self.head()] {
      #expect(next(head, Self.right) == nil)
    }
    #expect(AuthenticatingTransport.next(after: basic, .basic, Self.right) == nil)
    #expect(next(basic, .password(user: "u", password: "p", sendsBasicUnasked: true)) == nil)
  }

  @Test func `a wrong password of a request goes by Digest once`() async throws {
    let origin = GuardedOrigin(.digest(.sha256, isSession: false))
    let scripted = ScriptedTransport { .success(origin.answer($0)) }
    let session = CredentialSession()
    session.retain(Self.wrong, isOwn: true)
    let transport = AuthenticatingTransport(transport: scripted, session: session)
    let asked = AuthenticatingTransport.naming(Self.wrong, in: request())
    #expect(try await transport.send(asked).head.status == 401)
    #expect(scripted.requests.count { $0.fields.contains("Authorization") } == 1)
  }

  @Test(arguments: [2, 3])
  func `two nonces in a row may be too old`(stale: Int) async throws {
    let sent = Mutex(0)
    let scripted = ScriptedTransport { request in
      let number = sent.withLock { sent in
        sent += request.fields.contains("Authorization") ? 1 : 0
        return sent
      }
      let isOver = number > stale
      let fields = Self.head("Digest realm=r, nonce=n\(number), stale=\(number > 0)").fields
      return .success(.init("", status: isOver ? 200 : 401, fields: isOver ? [] : fields))
    }
    let session = CredentialSession()
    session.retain(Self.right)
    let transport = AuthenticatingTransport(transport: scripted, session: session)
    let asked = AuthenticatingTransport.naming(Self.right, in: request())
    #expect(try await transport.send(asked).head.status == (stale == 2 ? 200 : 401))
    #expect(sent.withLock { $0 } == 3)
  }

  @Test func `a nonce that others use meanwhile has no number twice`() async throws {
    let session = CredentialSession()
    let url = request().url
    let terms = try #require(
      AuthenticationChallenge.supported(in: Self.head("Digest realm=r, nonce=n")).first.flatMap {
        DigestTerms($0.challenge)
      })
    session.retain(Self.right)
    session.setWay(.digest(terms, count: 0), for: Self.right, to: url)
    let scripted = ScriptedTransport { _ in
      _ = session.way(for: Self.right, to: url)
      return .success(.init(""))
    }
    let transport = AuthenticatingTransport(transport: scripted, session: session)
    _ = try await transport.send(AuthenticatingTransport.naming(Self.right, in: request()))
    #expect(session.way(for: Self.right, to: url) == .digest(terms, count: 3))
  }

  @Test func `a password that was not sent is not accepted`() async throws {
    let session = CredentialSession()
    let url = request().url
    session.keep(
      Self.right, in: CredentialSession.Space(origin: .init(url), realm: "r"), at: url,
      saving: ProtectionSpace(url: url, realm: "r", scheme: .basic))
    let transport = AuthenticatingTransport(
      transport: ScriptedTransport(ScriptedTransport.Answer()), session: session)
    _ = try await transport.send(AuthenticatingTransport.naming(Self.right, in: request()))
    #expect(session.takeAccepted(Self.right, at: url) == nil)
  }
}

/// Lets the ends of many answers come at once.
private final class Waves: Sendable {
  private let next = Mutex<Gate?>(nil)

  /// Returns a gate that opens in 2 ms at most.
  func gate() -> Gate {
    next.withLock { next in
      if let next { return next }
      let gate = Gate()
      next = gate
      Task {
        try await Task.sleep(for: .milliseconds(2))
        self.next.withLock { $0 = nil }
        gate.open()
      }
      return gate
    }
  }
}
