import LoopbackOrigin
import Synchronization
import Testing

@testable import OfflineCacheKit

/// Lifetimes that the caller states, of files and of what is stored.
@Suite(.timeLimit(.minutes(5)))
struct LifetimeTests {
  /// Serves a body that may change, with a tag, and says that it is fresh for long.
  private final class Server: Sendable {
    let version = Atomic(1)
    let control: String

    init(control: String = "max-age=100000") { self.control = control }

    func answer(_ request: OriginRequest) -> OriginAnswer {
      let version = version.load(ordering: .relaxed)
      let fields = ["ETag: \"\(version)\"", "Cache-Control: \(control)"]
      return request.value(of: "If-None-Match") == "\"\(version)\""
        ? OriginAnswer("", status: 304, fields: fields)
        : OriginAnswer("version \(version)", fields: fields)
    }

    func change() { version.add(1, ordering: .relaxed) }
  }

  @Test func `a file that has expired is fetched again when it has changed`() async throws {
    let server = Server()
    let sandbox = try FaceSandbox { server.answer($0) }
    let file = sandbox.folder.appendingPathComponent("file")
    for version in 1...3 {
      let response = try await sandbox.cache.download(
        for: sandbox.request(), to: file, settings: DownloadSettings(expiresAfter: 1))
      #expect(response.metadata?.download?.source == .network)
      #expect(try String(contentsOf: file, encoding: .utf8) == "version \(version)")
      #expect(sandbox.origin.requests.count == version)
      server.change()
      sandbox.clock.advance(bySeconds: 2)
    }
    // Also where the expiry was stated by an earlier call alone.
    try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(try String(contentsOf: file, encoding: .utf8) == "version 4")
  }

  @Test func `a file that has expired is confirmed by the server, and good again`() async throws {
    let server = Server()
    let sandbox = try FaceSandbox { server.answer($0) }
    let file = sandbox.folder.appendingPathComponent("file")
    let settings = DownloadSettings(expiresAfter: 10)
    for source in [DownloadedFile.Source.network, .confirmed, .file] {
      let response = try await sandbox.cache.download(
        for: sandbox.request(), to: file, settings: settings)
      #expect(response.metadata?.download?.source == source)
      sandbox.clock.advance(bySeconds: source == .network ? 20 : 5)
    }
    #expect(sandbox.origin.requests.count == 2)
  }

  @Test func `what is stored is written to a file as long as the expiry says`() async throws {
    let server = Server()
    let sandbox = try FaceSandbox { server.answer($0) }
    let file = sandbox.folder.appendingPathComponent("file")
    let settings = DownloadSettings(expiresAfter: 10)
    _ = try await sandbox.cache.data(for: sandbox.request())
    server.change()
    sandbox.clock.advance(bySeconds: 6)
    let stored = try await sandbox.cache.download(
      for: sandbox.request(), to: file, settings: settings)
    #expect(stored.metadata?.download?.source == .store && sandbox.origin.requests.count == 1)
    // The expiry counts from the answer of the server, not from the copying.
    sandbox.clock.advance(bySeconds: 6)
    let fetched = try await sandbox.cache.download(
      for: sandbox.request(), to: file, settings: settings)
    #expect(fetched.metadata?.download?.source == .network)
    #expect(try String(contentsOf: file, encoding: .utf8) == "version 2")
    // Nor is an old one taken for a new file.
    sandbox.clock.advance(bySeconds: 11)
    server.change()
    let other = sandbox.folder.appendingPathComponent("other")
    try await sandbox.cache.download(for: sandbox.request(), to: other, settings: settings)
    #expect(try String(contentsOf: other, encoding: .utf8) == "version 3")
  }

  @Test func `what the server has confirmed is good for the whole time`() async throws {
    let server = Server()
    let sandbox = try FaceSandbox { server.answer($0) }
    let file = sandbox.folder.appendingPathComponent("file")
    let settings = DownloadSettings(expiresAfter: 10)
    _ = try await sandbox.cache.data(for: sandbox.request())
    sandbox.clock.advance(bySeconds: 20)
    try await sandbox.cache.download(for: sandbox.request(), to: file, settings: settings)
    #expect(sandbox.origin.requests.count == 2)
    sandbox.clock.advance(bySeconds: 9)
    let again = try await sandbox.cache.download(
      for: sandbox.request(), to: file, settings: settings)
    #expect(again.metadata?.source == .file && sandbox.origin.requests.count == 2)
  }

  @Test(arguments: ["max-age=100000", "max-age=1", "no-cache", "max-age=0, must-revalidate"])
  func `a lifetime of the caller's counts in place of the server's`(control: String) async throws {
    let server = Server(control: control)
    let sandbox = try FaceSandbox(OfflineCacheOptions(offlineMode: .never)) { server.answer($0) }
    func fetch() async throws -> String {
      let (data, _) = try await sandbox.cache.data(for: sandbox.request(), expiresAfter: 10)
      return String(decoding: data, as: UTF8.self)
    }
    #expect(try await fetch() == "version 1")
    server.change()
    sandbox.clock.advance(bySeconds: 9)
    #expect(try await fetch() == "version 1")
    #expect(sandbox.origin.requests.count == 1)
    sandbox.clock.advance(bySeconds: 1)
    #expect(try await fetch() == "version 2")
    sandbox.clock.advance(bySeconds: 10)
    #expect(try await fetch() == "version 2")
    let tags = sandbox.origin.requests.map { $0.value(of: "If-None-Match") ?? "" }
    #expect(tags == ["", "\"1\"", "\"2\""])
    // A 304 begins the time anew.
    sandbox.clock.advance(bySeconds: 9)
    #expect(try await fetch() == "version 2")
    #expect(sandbox.origin.requests.count == 3)
    // A clock that was set back makes nothing good for longer.
    sandbox.clock.advance(bySeconds: -1000)
    #expect(try await fetch() == "version 2")
    #expect(sandbox.origin.requests.count == 4)
  }

  @Test func `a lifetime stores nothing that must not be stored, and yields to other policies`()
    async throws
  {
    let server = Server(control: "no-store")
    let sandbox = try FaceSandbox { server.answer($0) }
    for count in 1...2 {
      _ = try await sandbox.cache.data(from: sandbox.origin.url("/a"), expiresAfter: 1000)
      #expect(sandbox.origin.requests.count == count)
    }
    let stored = try FaceSandbox { Server().answer($0) }
    for (policy, count) in [
      (URLRequest.CachePolicy.useProtocolCachePolicy, 1), (.reloadIgnoringLocalCacheData, 2),
      (.returnCacheDataElseLoad, 2),
    ] {
      stored.clock.advance(bySeconds: 10)
      _ = try await stored.cache.data(for: stored.request("/a", policy), expiresAfter: 5)
      #expect(stored.origin.requests.count == count)
    }
  }
}
