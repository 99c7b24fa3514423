import TestSupport
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5))) struct SubstituteTests {
  private let temporary = TemporaryFolder()

  private var folder: URL { temporary.url }

  /// A cache with a file for one remote URL, and no network.
  private func sandbox() throws -> FaceSandbox {
    let file = folder.appendingPathComponent("logo.svg")
    try Data("<svg/>".utf8).write(to: file)
    var options = OfflineCacheOptions(reachability: ManualReachability(.none))
    options.substitutes = try Substitutes([
      SubstituteRule("http://cdn.invalid/logo.svg", .file(file.path), lifetime: .seconds(0))
    ])
    return try FaceSandbox(options)
  }

  private var request: URLRequest {
    get throws { URLRequest(url: try #require(URL(string: "http://cdn.invalid/logo.svg"))) }
  }

  @Test(arguments: [OfflineMode.never, .whenUnreachable, .always])
  func `a substitute answers in every mode, and the metadata say so`(mode: OfflineMode) async throws
  {
    let sandbox = try sandbox()
    sandbox.cache.offlineMode = mode
    let (data, response) = try await sandbox.cache.data(for: request)
    #expect(data == Data("<svg/>".utf8))
    #expect(response.statusCode == 200)
    #expect(response.mimeType == "image/svg+xml")
    let metadata = try #require(response.metadata)
    #expect(metadata.source == .substitute)
    #expect(!metadata.isStale)
    #expect(metadata.age == 0)
    #expect(metadata.reason == "a file that ships with the program answers for it")
    #expect(try sandbox.cache.cachedResponse(for: request)?.data == data)
    #expect(sandbox.cache.size.logical == 0)
  }

  @Test func `it answers through a URLSession, to bytes and into a file`() async throws {
    let sandbox = try sandbox()
    var bytes: [UInt8] = []
    for try await byte in try await sandbox.cache.bytes(for: request).0 { bytes.append(byte) }
    #expect(bytes == Array("<svg/>".utf8))
    let target = folder.appendingPathComponent("copy.svg")
    _ = try await sandbox.cache.download(for: request, to: target)
    #expect(try Data(contentsOf: target) == Data("<svg/>".utf8))
    #expect(try OfflineURLCache(sandbox.cache).cachedResponse(for: request)?.data.count == 6)
  }

  @Test func `who reloads wants the origin`() async throws {
    let sandbox = try sandbox()
    var reload = try request
    reload.cachePolicy = .reloadIgnoringLocalCacheData
    #expect(await text(sandbox.cache, reload) == "\(URLError.cannotFindHost.rawValue)")
  }
}
