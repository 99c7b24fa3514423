import CurlHTTP
import LoopbackOrigin
import NginxOrigin
import Synchronization
import Testing

@testable import OfflineCacheKit

/// Needs nginx and openssl of Debian.
@Suite(.enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
struct OfflineCacheCredentialsTests {
  private static let servers = """
    server { listen PORT0; root FOLDER/site; auth_basic "inside";
      auth_basic_user_file FOLDER/users; add_header Cache-Control "private, max-age=1000";
      location /put/ { dav_methods PUT; create_full_put_path on; client_max_body_size 100m; } }
    """

  private func makeOrigin() async throws -> NginxOrigin {
    let folder = TemporaryFolder()
    let site = folder.url.appendingPathComponent("site")
    try FileManager.default.createDirectory(at: site, withIntermediateDirectories: true)
    try Data("secret".utf8).write(to: site.appendingPathComponent("page"))
    try Data("älice:{PLAIN}pass wörd\nbob:{PLAIN}b\n".utf8)
      .write(to: folder.url.appendingPathComponent("users"))
    return try await NginxOrigin(Self.servers, in: folder)
  }

  private func sandbox(
    _ provider: CredentialProvider?, vault: (any CredentialVault)? = nil
  ) throws -> FaceSandbox {
    var options = OfflineCacheOptions(network: NetworkSetup(proxy: .none), credentials: provider)
    options.credentialVault = vault
    return try FaceSandbox(options)
  }

  private func url(_ origin: NginxOrigin, _ target: String = "/page", user: String = "") -> URL {
    URL(string: origin.address(target, scheme: "http", host: "\(user)127.0.0.1"))!
  }

  @Test("nginx lets in who has the password, and the answer is stored for that user")
  func basic() async throws {
    let origin = try await makeOrigin()
    let challenges = Mutex<[AuthenticationChallenge]>([])
    let sandbox = try sandbox { challenge in
      challenges.withLock { $0.append(challenge) }
      return .use(
        challenge.failures == 0
          ? .password(user: "bob", password: "wrong")
          : .password(user: "älice", password: "pass wörd"))
    }
    let cache = sandbox.cache
    let (data, response) = try await cache.data(from: url(origin))
    #expect(String(decoding: data, as: UTF8.self) == "secret")
    #expect(response.statusCode == 200)
    #expect(challenges.withLock { $0.map(\.realm) } == ["inside", "inside"])
    #expect(challenges.withLock { $0.map(\.failures) } == [0, 1])
    #expect(try await cache.data(from: url(origin)).1.metadata?.source != .network)
    cache.offlineMode = .always
    #expect(try await cache.data(from: url(origin)).1.statusCode == 200)
    try await cache.forgetCredentials()
    await #expect(throws: URLError.self) { try await cache.data(from: url(origin)) }
    try cache.use(.password(user: "bob", password: "b"), for: url(origin))
    await #expect(throws: URLError.self) { try await cache.data(from: url(origin)) }
    try cache.use(.password(user: "älice", password: "pass wörd"), for: url(origin))
    #expect(try await cache.data(from: url(origin)).1.statusCode == 200)
  }

  @Test("a user in the URL is sent at once; nobody gets the 401")
  func inURL() async throws {
    let origin = try await makeOrigin()
    let sandbox = try sandbox(nil)
    #expect(try await sandbox.cache.data(from: url(origin)).1.statusCode == 401)
    #expect(try await sandbox.cache.data(from: url(origin, user: "bob:b@")).1.statusCode == 200)
    let named = url(origin, user: "%C3%A4lice:pass%20w%C3%B6rd@")
    let (data, response) = try await sandbox.cache.data(from: named)
    #expect(String(decoding: data, as: UTF8.self) == "secret")
    #expect(response.url?.absoluteString.contains("@") == false)
    #expect(try await sandbox.cache.data(from: url(origin, user: "bob:x@")).1.statusCode == 401)
  }

  @Test("a file is sent again once the server has said that it wants to know who sends it")
  func upload() async throws {
    let origin = try await makeOrigin()
    let sandbox = try sandbox { _ in .use(.password(user: "bob", password: "b")) }
    let file = sandbox.folder.appendingPathComponent("content.bin")
    let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
    try content.write(to: file)
    var request = URLRequest(url: url(origin, "/put/file"))
    request.httpMethod = "PUT"
    #expect(try await sandbox.cache.upload(for: request, fromFile: file).1.statusCode == 201)
    let sent = origin.folder.appendingPathComponent("site/put/file")
    #expect(try Data(contentsOf: sent) == content)
  }

  @Test("downloads have the same credentials, and what they store is for that user alone")
  func downloads() async throws {
    let origin = try await makeOrigin()
    let sandbox = try sandbox { _ in .goOnWithout }
    let cache = sandbox.cache
    let file = sandbox.folder.appendingPathComponent("page")
    await #expect(throws: URLError.self) {
      try await cache.download(for: URLRequest(url: url(origin)), to: file)
    }
    let named = url(origin, user: "bob:b@")
    try await cache.download(for: URLRequest(url: named), to: file)
    #expect(try Data(contentsOf: file) == Data("secret".utf8))
    #expect(try await cache.updateState(for: URLRequest(url: named), file: file) == .current)
    let stored = URLRequest(url: url(origin), cachePolicy: .returnCacheDataDontLoad)
    await #expect(throws: URLError.self) { try await cache.data(for: stored) }
    try cache.use(.password(user: "älice", password: "pass wörd"), for: url(origin))
    await #expect(throws: URLError.self) { try await cache.data(for: stored) }
    let other = sandbox.folder.appendingPathComponent("other")
    try await cache.download(for: URLRequest(url: url(origin)), to: other)
    #expect(try Data(contentsOf: other) == Data("secret".utf8))
    #expect(try await cache.data(for: stored).1.statusCode == 200)
    #expect(try await cache.updateState(for: URLRequest(url: url(origin))) == .current)
    try await cache.forgetCredentials()
    await #expect(throws: URLError.self) { try await cache.data(for: stored) }
    #expect(try await cache.updateState(for: URLRequest(url: url(origin))) == .missing)
  }

  @Test("a file for one user is not returned to another one, nor to nobody, even offline")
  func downloadsOfUsers() async throws {
    let origin = try await makeOrigin()
    let sandbox = try sandbox { challenge in
      challenge.failures == 0 ? .use(.password(user: "bob", password: "b")) : .goOnWithout
    }
    let cache = sandbox.cache
    let file = sandbox.folder.appendingPathComponent("page")
    let page = URLRequest(url: url(origin))
    let kept = DownloadSettings(expiresAfter: 3_600)
    func source() async throws -> Any {
      try await cache.download(for: page, to: file, settings: kept)
    }
    try cache.use(.password(user: "älice", password: "pass wörd"), for: url(origin))
    _ = try await source()
    cache.offlineMode = .always
    _ = try await source()
    try await cache.forgetCredentials()
    await #expect(throws: URLError.self) { _ = try await source() }
    try cache.use(.password(user: "bob", password: "b"), for: url(origin))
    await #expect(throws: URLError.self) { _ = try await source() }
    // The provider logs bob in during a download.
    try await cache.forgetCredentials()
    cache.offlineMode = .never
    _ = try await source()
    cache.offlineMode = .always
    _ = try await source()
    try await cache.forgetCredentials()
    await #expect(throws: URLError.self) { _ = try await source() }
  }

  @Test("what came while somebody logged in is not stored, as it is nobody's for certain")
  func downloadWhileLoggingIn() async throws {
    let origin = try await makeOrigin()
    let sandbox = try sandbox { _ in
      .use(.password(user: "bob", password: "b", persistence: .request))
    }
    let cache = sandbox.cache
    let file = sandbox.folder.appendingPathComponent("page")
    try await cache.download(for: URLRequest(url: url(origin)), to: file)
    #expect(try Data(contentsOf: file) == Data("secret".utf8))
    let stored = URLRequest(url: url(origin), cachePolicy: .returnCacheDataDontLoad)
    await #expect(throws: URLError.self) { try await cache.data(for: stored) }
  }

  @Test("nothing that is written has the password")
  func notOnDisk() async throws {
    let origin = try await makeOrigin()
    let sandbox = try sandbox { _ in .use(.password(user: "älice", password: "pass wörd")) }
    _ = try await sandbox.cache.data(from: url(origin))
    _ = try await sandbox.cache.data(from: url(origin, user: "bob:b@"))
    sandbox.cache.store.close()
    let files = FileManager.default.enumerator(
      at: sandbox.folder, includingPropertiesForKeys: nil)
    var names = 0
    while let file = files?.nextObject() as? URL {
      guard let data = try? Data(contentsOf: file) else { continue }
      names += 1
      let basic = Data("älice:pass wörd".utf8).base64EncodedString()
      for secret in ["wörd", basic, "Authorization: ", "bob:b"] {
        #expect(data.range(of: Data(secret.utf8)) == nil, "\(secret) in \(file.path)")
      }
    }
    #expect(names > 0)
  }

  @Test("a log-in that the user cancels is an error of its own, and going on without one is none")
  func cancelled() async throws {
    let origin = try await makeOrigin()
    let sandbox = try sandbox { challenge in
      challenge.url.target == "/page" ? .cancel : .goOnWithout
    }
    let cache = sandbox.cache
    let error = await #expect(throws: URLError.self) { try await cache.data(from: url(origin)) }
    #expect(error?.code == .userCancelledAuthentication)
    let underlying = try #require(error?.userInfo[NSUnderlyingErrorKey] as? ClientError)
    guard case .transport(let cause) = underlying.cause else {
      Issue.record("\(underlying)")
      return
    }
    #expect(cause.code == .loginCancelled)
    #expect(error?.localizedDescription.contains("the log-in was cancelled") == true)
    let file = sandbox.folder.appendingPathComponent("page")
    let download = await #expect(throws: URLError.self) {
      try await cache.download(for: URLRequest(url: url(origin)), to: file)
    }
    #expect(download?.code == .userCancelledAuthentication)
    let byTask = await withCheckedContinuation { continuation in
      cache.dataTask(with: url(origin)) { _, _, error in
        continuation.resume(returning: error?.code)
      }.resume()
    }
    #expect(byTask == .userCancelledAuthentication)
    #expect(try await cache.data(from: url(origin, "/other")).1.statusCode == 401)
  }

  @Test("a vault keeps the password for the next start, until the user logs out")
  func vault() async throws {
    let origin = try await makeOrigin()
    let folder = TemporaryFolder()
    let problems = Mutex<[CredentialVaultError]>([])
    func vault() -> FileCredentialVault {
      FileCredentialVault(path: folder.path + "/vault/credentials.json") { error in
        problems.withLock { $0.append(error) }
      }
    }
    let first = try sandbox(
      { _ in .use(.password(user: "bob", password: "b", persistence: .permanent)) },
      vault: vault())
    #expect(try await first.cache.data(from: url(origin)).1.statusCode == 200)
    let second = try sandbox(nil, vault: vault())
    #expect(try await second.cache.data(from: url(origin)).1.statusCode == 200)
    try await second.cache.forgetCredentials()
    #expect(try await second.cache.data(from: url(origin)).1.statusCode == 401)
    let third = try sandbox(nil, vault: vault())
    #expect(try await third.cache.data(from: url(origin)).1.statusCode == 401)
    #expect(problems.withLock { $0 }.isEmpty)
  }

  @Test("a vault that cannot be used is reported, and the user is asked")
  func unusableVault() async throws {
    let origin = try await makeOrigin()
    let folder = TemporaryFolder()
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o777], ofItemAtPath: folder.path)
    let problems = Mutex<[CredentialVaultError]>([])
    let vault = FileCredentialVault(path: folder.path + "/credentials.json") { error in
      problems.withLock { $0.append(error) }
    }
    let sandbox = try sandbox(
      { _ in .use(.password(user: "bob", password: "b", persistence: .permanent)) }, vault: vault)
    #expect(try await sandbox.cache.data(from: url(origin)).1.statusCode == 200)
    #expect(problems.withLock { $0.map(\.code) } == [.untrusted, .untrusted])
    let error = try #require(problems.withLock { $0.first })
    #expect((error as any Error).localizedDescription == error.description)
    await #expect(throws: CredentialVaultError.self) {
      try await sandbox.cache.forgetCredentials()
    }
  }

  @Test(
    "after a restart without a network, the vault finds what was stored for its user",
    arguments: [OfflineMode.always, .whenUnreachable])
  func vaultOffline(_ mode: OfflineMode) async throws {
    let folder = TemporaryFolder()
    var options = OfflineCacheOptions(
      network: NetworkSetup(proxy: .none),
      credentials: { _ in .use(.password(user: "bob", password: "b", persistence: .permanent)) })
    options.credentialVault = FileCredentialVault(
      path: folder.path + "/vault/credentials.json"
    ) { Issue.record($0) }
    let sandbox = try FaceSandbox(options) { request in
      request.value(of: "Authorization") == nil
        ? OriginAnswer("who?", status: 401, fields: ["WWW-Authenticate: Basic realm=r"])
        : fresh("secret", seconds: 1)
    }
    #expect(await text(sandbox.cache, sandbox.request()) == "secret")
    sandbox.cache.store.close()
    sandbox.origin.stop()
    options.credentials = nil
    options.offlineMode = mode
    let cache = try OfflineCache(
      capacity: 64 << 20, directory: sandbox.folder.appendingPathComponent("store"),
      options: options)
    defer { cache.store.close() }
    #expect(await text(cache, sandbox.request()) == "secret")
    let file = sandbox.folder.appendingPathComponent("file")
    for _ in 0..<2 {
      try await cache.download(for: sandbox.request(), to: file)
      #expect(try Data(contentsOf: file) == Data("secret".utf8))
    }
    try await cache.forgetCredentials()
    // Nor is the file for nobody.
    await #expect(throws: URLError.self) {
      try await cache.download(for: sandbox.request(), to: file)
    }
    #expect(await text(cache, sandbox.request()) != "secret")
  }
}
