import CacheSystem
import ClientTesting
import Foundation
import MessageDigests
import SimulatedFiles
import Testing

@testable import CacheClient
@testable import HTTPAuthentication
@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(5)))
struct CachingClientDownloadTests {
  private static let right = Credential.password(
    user: GuardedOrigin.user, password: GuardedOrigin.password)

  @Test(arguments: [Guard.basic, .digest(.sha256, isSession: false)])
  func `a downloader logs in as its client does`(kind: Guard) async throws {
    let folder = DownloadSandbox()
    let origin = GuardedOrigin(kind)
    let answers = ScriptedProvider(.use(Self.right))
    let sandbox = try ClientSandbox(
      ScriptedTransport { .success(origin.answer($0)) },
      ClientOptions(credentials: answers.provider))
    let downloader = sandbox.client.makeDownloader(options: DownloaderOptions(maximumRetries: 0))
    for name in ["a", "b"] {
      let file = try await downloader.download(folder.asked(name, url: "/\(name)"))
      #expect(file.record.url == "http://example.com/\(name)")
      #expect(folder.bytes(name) == Array("secret".utf8))
    }
    #expect(answers.challenges.count == 1)
    #expect(sandbox.transport.requests.count == 3)
    #expect(!folder.names.contains { $0.contains(GuardedOrigin.password) })
  }

  @Test func `three tries are enough, and the 401 is reported`() async throws {
    let folder = DownloadSandbox()
    let answers = ScriptedProvider(.use(.password(user: "u", password: "no")))
    let origin = GuardedOrigin(.basic)
    let sandbox = try ClientSandbox(
      ScriptedTransport { .success(origin.answer($0)) },
      ClientOptions(credentials: answers.provider))
    let downloader = sandbox.client.makeDownloader(options: DownloaderOptions(maximumRetries: 0))
    #expect(await folder.failure(downloader, folder.asked()) == .status(401))
    #expect(answers.challenges.map(\.failures) == [0, 1, 2])
    #expect(folder.names == [])
  }

  @Test func `a file that another URL answered is not stored under the one that was asked`()
    async throws
  {
    let folder = DownloadSandbox()
    let server = FileServer(content(6_000), faults: [FileServer.Fault(fields: fresh())])
    let sandbox = try ClientSandbox(ScriptedTransport.Answer())
    let client = sandbox.client
    let file = try await folder.downloader(server).download(folder.asked())
    #expect(try await !client.store(contentsOf: file, for: request("/latest")))
    #expect(try await client.store(contentsOf: file, for: request("/big")))
  }

  @Test func `a file does not replace what was received since it was downloaded`() async throws {
    let folder = DownloadSandbox()
    let server = FileServer(content(6_000), faults: [FileServer.Fault(fields: fresh())])
    let sandbox = try ClientSandbox(ScriptedTransport.Answer())
    let client = sandbox.client
    let file = try await folder.downloader(server).download(folder.asked())
    sandbox.clock.advance(bySeconds: 10)
    _ = try client.store([1], HTTPResponseHead(status: 200, fields: fresh()), for: request("/big"))
    #expect(try await !client.store(contentsOf: file, for: request("/big")))
    #expect(try await client.data(for: request("/big")).bytes == [1])
  }

  @Test func `in the history, too, a file does not replace what was received since`() async throws {
    let folder = DownloadSandbox()
    let page = [HTTPField("Vary", "*")]
    let server = FileServer(content(6_000), faults: [FileServer.Fault(fields: HTTPFields(page))])
    let sandbox = try ClientSandbox(
      ScriptedTransport(ScriptedTransport.Answer()), ClientOptions(rules: .withHistory))
    let client = sandbox.client
    let file = try await folder.downloader(server).download(folder.asked())
    sandbox.clock.advance(bySeconds: 10)
    _ = try client.store(
      [1], HTTPResponseHead(status: 200, fields: HTTPFields(page)), for: request("/big"))
    #expect(try await !client.store(contentsOf: file, for: request("/big")))
    let left = try await client.data(for: request("/big"), options: FetchOptions(policy: .offline))
    #expect(left.bytes == [1])
  }

  @Test func `a file that is invalidated while it is stored is not kept in the history`()
    async throws
  {
    let folder = DownloadSandbox()
    let page = FileServer.Fault(fields: [HTTPField("Vary", "*")])
    let disk = FaultyFiles()
    let sandbox = try ClientSandbox(
      ScriptedTransport(ScriptedTransport.Answer()), ClientOptions(rules: .withHistory),
      store: Options(fileSystem: disk))
    let client = sandbox.client
    for isInvalidated in [false, true] {
      let file = try await folder.downloader(FileServer(content(6_000), faults: [page]))
        .download(folder.asked())
      let key = client.key(of: request("/big"))
      disk.faults.set { call in
        if isInvalidated, call.isChange { client.permits.revoke(key) }
        return nil
      }
      #expect(try await !client.store(contentsOf: file, for: request("/big")))
      disk.faults.set(nil)
      let left = client.storedAnswer(
        to: request("/big"), options: FetchOptions(policy: .offline))
      #expect((left == nil) == isInvalidated)
      try sandbox.store.removeAll()
    }
  }

  @Test func `a file that is too long for the store is not read`() async throws {
    let folder = DownloadSandbox()
    let server = FileServer(content(6_000), faults: [FileServer.Fault(fields: fresh())])
    let client = try ClientSandbox(
      ScriptedTransport(ScriptedTransport.Answer()),
      store: Options(limits: Limits(entryBytes: 7_000)))
    let file = try await folder.downloader(server).download(folder.asked())
    let handle = try #require(FileHandle(forUpdatingAtPath: file.path))
    try handle.truncate(atOffset: 1 << 40)
    try handle.close()
    var record = file.record
    let status = try RealFileSystem().status(userPath: file.path)
    (record.length, record.modified) = (status.length, status.modified)
    let long = DownloadedFile(
      path: file.path, record: record, source: .network, receivedBytes: 0, resumedBytes: 0)
    await #expect(throws: StoreError.self) {
      try await client.client.store(contentsOf: long, for: request("/big"))
    }
    // The length of what may not be stored anyway is no error.
    record.head.fields.replace(with: HTTPField("Cache-Control", "no-store"))
    let forbidden = DownloadedFile(
      path: file.path, record: record, source: .network, receivedBytes: 0, resumedBytes: 0)
    #expect(try await !client.client.store(contentsOf: forbidden, for: request("/big")))
  }

  @Test(.enabled(if: geteuid() == 0, "files of another user are needed"))
  func `a file that others have changed since is not stored`() async throws {
    let folder = DownloadSandbox()
    let server = FileServer(content(600_000))
    let client = try ClientSandbox(ScriptedTransport.Answer())
    let file = try await folder.downloader(server).download(folder.asked())
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    unsafe #expect(lchown(folder.path(), 65_534, 65_534) == 0)
    #expect(try await !client.client.store(contentsOf: file, for: request("/big")))
  }
}
