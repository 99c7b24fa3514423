import CacheSystem
import ClientTesting
import HTTPAuthentication
import Testing

@testable import HTTPDownloads

/// A server whose users get different files of one URL, with one tag for all of them.
@Suite(.timeLimit(.minutes(2)))
struct DownloadSelectionTests {
  private static let alice = [UInt8](repeating: 0x61, count: 100_000)
  private static let bob = [UInt8](repeating: 0x62, count: 100_000)
  private let sandbox = DownloadSandbox()
  private let server = FileServer(alice)

  private func request(_ token: String?, _ field: String = "Authorization") -> DownloadRequest {
    var request = sandbox.asked()
    request.expiry = DownloadExpiry(after: 3600)
    if let token { request.request.fields.append(HTTPField(field, token)) }
    return request
  }

  private func download(_ request: DownloadRequest) async throws -> DownloadedFile.Source {
    try await sandbox.downloader(server).download(request).source
  }

  /// Answers with a field that says for whom the file is.
  private func answer(_ name: String, _ value: String, cut: Int? = nil) {
    server.fail(FileServer.Fault(fields: [HTTPField(name, value)], cut: cut))
  }

  @Test(arguments: ["Authorization", "Cookie"])
  func `another user's file is not used without asking the server`(field: String) async throws {
    _ = try await download(request("alice", field))
    #expect(try await download(request("alice", field)) == .file)
    #expect(try await download(request("bob", field)) == .confirmed)
    // Now it is known to be bob's, too.
    #expect(try await download(request("bob", field)) == .file)
    #expect(try await download(request(nil)) == .confirmed)
    #expect(server.requests.count == 3)
  }

  @Test(arguments: ["*", "Accept-Language, *"])
  func `a file that no request selects is not used without asking the server`(
    vary: String
  ) async throws {
    answer("Vary", vary)
    _ = try await download(request("alice"))
    #expect(try await download(request("alice")) == .confirmed)
    #expect(try await download(request("bob")) == .confirmed)
    #expect(server.requests.count == 3)
  }

  @Test func `a private file that no request selects is not confirmed`() async throws {
    let fields = [HTTPField("Vary", "*"), HTTPField("Cache-Control", "private")]
    server.fail(FileServer.Fault(fields: HTTPFields(fields)))
    _ = try await download(request("alice"))
    server.change(Self.bob, tag: "\"1\"")
    #expect(try await download(request("alice")) == .network)
  }

  @Test func `a coding that is asked for selects no other file`() async throws {
    answer("Vary", "Accept-Encoding")
    _ = try await download(request("gzip", "Accept-Encoding"))
    #expect(try await download(request(nil)) == .file)
    #expect(server.requests[0].fields.count { $0.name == "Accept-Encoding" } == 1)
  }

  @Test func `a token of the caller counts in place of the user`() async throws {
    _ = try await download(request("token"))
    var asked = request("token")
    asked.user = "alice"
    #expect(try await download(asked) == .file)
  }

  @Test func `bytes that several users got in one chain are continued for none`() async throws {
    let logged = LoggingIn(server)
    logged.chain.withLock { $0 = ["alice", "bob", "alice", "bob"] }
    var options = DownloaderOptions(maximumRetries: 1, retryDelay: .milliseconds(1))
    options.recordsLogins = true
    let redirect = FileServer.Fault(status: 302, fields: [HTTPField("Location", "/to")])
    let fields: HTTPFields = [HTTPField("Cache-Control", "private")]
    server.fail(redirect, .init(fields: fields, cut: 70_000), redirect, .init(fields: fields))
    let downloader = Downloader(transport: logged, options: options, clock: sandbox.clock)
    _ = try await downloader.download(request(nil))
    #expect(server.ranges == ["", "", "bytes=70000-", "bytes=70000-", ""])
    #expect(sandbox.bytes() == Self.alice)
  }

  @Test func `offline, another user gets no file`() async throws {
    _ = try await download(request("alice"))
    let downloader = sandbox.downloader(server)
    #expect(try await downloader.fileNow(request("alice")) != nil)
    #expect(try await downloader.fileNow(request("bob")) == nil)
    #expect(try await downloader.updateState(of: request("bob")) == .current)
  }

  @Test(arguments: [
    ("Cache-Control", "max-age=60, private"), ("Vary", "Accept, Authorization"),
  ])
  func `a file for one user is not confirmed for another`(name: String, value: String) async throws
  {
    answer(name, value)
    _ = try await download(request("alice"))
    server.change(Self.bob, tag: "\"1\"")
    #expect(try await sandbox.downloader(server).updateState(of: request("bob")) == .missing)
    #expect(try await download(request("bob")) == .network)
    #expect(sandbox.bytes() == Self.bob)
  }

  @Test func `bytes for one user are not continued for another`() async throws {
    let interruption = FileServer.Fault(
      fields: [HTTPField("Cache-Control", "private")], cut: 70_000)
    server.fail(interruption)
    await #expect(throws: DownloadError.self) { try await download(request("alice")) }
    server.change(Self.bob, tag: "\"1\"")
    #expect(try await download(request("bob")) == .network)
    #expect(sandbox.bytes() == Self.bob)
  }

  @Test func `a file for everybody is continued with a new token`() async throws {
    server.fail(FileServer.Fault(cut: 70_000))
    await #expect(throws: DownloadError.self) { try await download(request("token 1")) }
    let file = try await sandbox.downloader(server).download(request("token 2"))
    #expect(file.resumedBytes > 0 && sandbox.bytes() == Self.alice)
    #expect(try await download(request("token 2")) == .file)
    #expect(try await download(request("token 1")) == .confirmed)
  }

  @Test func `another language is another file`() async throws {
    answer("Vary", "Accept-Language, Accept-Encoding")
    _ = try await download(request("en", "Accept-Language"))
    #expect(try await download(request("en", "Accept-Language")) == .file)
    server.change(Self.bob, tag: "\"1\"")
    #expect(try await download(request("de", "Accept-Language")) == .network)
    #expect(sandbox.bytes() == Self.bob)
  }

  @Test func `another Host is another file`() async throws {
    _ = try await download(request("other.example", "Host"))
    #expect(try await download(request("other.example", "Host")) == .file)
    server.change(Self.bob, tag: "\"1\"")
    #expect(try await download(request(nil)) == .network)
    #expect(sandbox.bytes() == Self.bob)
  }

  @Test func `another Host is another file, also if no request selects it`() async throws {
    answer("Vary", "*")
    _ = try await download(request("other.example", "Host"))
    #expect(try await download(request("other.example", "Host")) == .confirmed)
    server.change(Self.bob, tag: "\"1\"")
    #expect(try await download(request(nil)) == .network)
    #expect(sandbox.bytes() == Self.bob)
  }

  @Test func `the user that logs in counts, and so does a credential`() async throws {
    var alice = request(nil)
    alice.user = "alice"
    var bob = request(nil)
    bob.credential = .password(user: "bob", password: "secret")
    _ = try await download(alice)
    #expect(try await download(alice) == .file)
    #expect(try await download(bob) == .confirmed)
    #expect(try await download(bob) == .file)
  }

  @Test func `the user that the transport has logged in counts`() async throws {
    let logged = LoggingIn(server)
    func download(_ request: DownloadRequest) async throws -> DownloadedFile.Source {
      var options = DownloaderOptions(maximumRetries: 0)
      options.recordsLogins = true
      return try await Downloader(transport: logged, options: options, clock: sandbox.clock)
        .download(request).source
    }
    var alice = request(nil)
    alice.user = "alice"
    // The server asks, and somebody logs in.
    logged.user.withLock { $0 = "alice" }
    _ = try await download(request(nil))
    #expect(try await download(alice) == .file)
    #expect(try await download(request(nil)) == .confirmed)
    // Another user has logged in before it was sent.
    logged.user.withLock { $0 = "bob" }
    #expect(try await download(alice) == .file)
    alice.reuse = .never
    _ = try await download(alice)
    alice.reuse = .unexpired
    #expect(try await download(alice) == .confirmed)
    // Nobody, by a log-out.
    logged.user.withLock { $0 = nil }
    #expect(try await download(alice) == .confirmed)
    #expect(try await download(request(nil)) == .file)
  }

  @Test(arguments: [true, false])
  func `bytes of the user of before are not used for the one that is logged in now`(isWhole: Bool)
    async throws
  {
    let logged = LoggingIn(server)
    var options = DownloaderOptions(maximumRetries: 0)
    options.recordsLogins = true
    let downloader = Downloader(transport: logged, options: options, clock: sandbox.clock)
    var asked = request(nil)
    asked.user = "alice"
    logged.user.withLock { $0 = "alice" }
    answer("Cache-Control", "private", cut: isWhole ? nil : 70_000)
    _ = try? await downloader.download(asked)
    // The server gives both the same tag.
    logged.user.withLock { $0 = "bob" }
    server.change(Self.bob, tag: "\"1\"")
    asked.reuse = .confirmed
    #expect(try await downloader.download(asked).source == .network)
    #expect(sandbox.bytes() == Self.bob)
  }

  @Test func `a record has no secret, and is of use with its key only`() async throws {
    let asked = request("Bearer a-secret-token")
    func download(_ key: UInt8) async throws -> DownloadedFile.Source {
      var options = DownloaderOptions(maximumRetries: 0)
      options.conceal = { [key] + $0.reversed().map { $0 ^ 0x55 } }
      return try await Downloader(transport: server, options: options, clock: sandbox.clock)
        .download(asked).source
    }
    _ = try await download(1)
    let record = String(
      decoding: sandbox.bytes(
        String(try sandbox.hidden(".json").dropFirst(sandbox.folder.count + 1)))
        ?? [], as: UTF8.self)
    #expect(record.contains("download-user") && !record.contains("a-secret-token"))
    #expect(try await download(1) == .file)
    #expect(try await download(2) == .confirmed)
  }

  @Test(arguments: [true, false])
  func `a file that a kill left whole is for its URL and user alone`(isOtherUser: Bool) async throws
  {
    let sandbox = DownloadSandbox()
    let server = FileServer(content(1000))
    let downloader = sandbox.downloader(server)
    var asked = sandbox.asked(url: "/big?1")
    asked.request.fields = [HTTPField("Authorization", "Basic YTph")]
    asked.expiry = DownloadExpiry(after: 3600)
    _ = try await downloader.download(asked)
    try sandbox.undoRename(of: "file")
    server.change(content(1000, seed: 2), tag: "\"2\"")
    var other = asked
    if isOtherUser {
      other.request.fields = [HTTPField("Authorization", "Basic Yjpi")]
    } else {
      other.request = sandbox.asked(url: "/big?2").request
      other.request.fields = asked.request.fields
    }
    #expect(try await downloader.download(other).receivedBytes == 1000)
    #expect(sandbox.bytes() == content(1000, seed: 2))
  }

  @Test func `what one user has got completely is not the file of another one`() async throws {
    let sandbox = DownloadSandbox()
    let server = FileServer(content(1000))
    let downloader = sandbox.downloader(server)
    func asked(_ user: String) -> DownloadRequest {
      var asked = sandbox.asked()
      asked.request.fields = [HTTPField("Authorization", user)]
      asked.expiry = DownloadExpiry(after: 3600)
      return asked
    }
    server.fail(.init(fields: [HTTPField("Cache-Control", "private")], cut: 1000))
    #expect(await sandbox.failure(downloader, asked("Basic YTph")) != nil)
    server.change(content(1000, seed: 2), tag: "\"1\"")
    let file = try await downloader.download(asked("Basic Yjpi"))
    #expect(file.resumedBytes == 0 && sandbox.bytes() == content(1000, seed: 2))
  }
}

/// Reports a user, as a transport does that logs in.
private final class LoggingIn: HTTPTransport {
  let user = Lock<String?>(nil)
  /// The users of the next requests, before that one.
  let chain = Lock<[String]>([])
  private let transport: any HTTPTransport

  init(_ transport: any HTTPTransport) { self.transport = transport }

  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    var response = try await transport.send(
      request, body: body, options: options, onInterim: onInterim)
    let next = chain.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    response.user = next ?? user.withLock { $0 }
    return response
  }
}
