import LoopbackOrigin
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(2))) struct ResponseMetadataTests {
  /// Values of `Age`, and the seconds that they mean (RFC 9111, section 5.1).
  private static let ages: [(String, TimeInterval)] = [
    ("0", 0), ("7", 7), (" 7 ", 7), ("7, 9", 7), ("007", 7), ("2147483648", 2_147_483_648),
    ("99999999999999999999", 2_147_483_648), ("-7", 0), ("+7", 0), ("7.5", 0), ("1e3", 0),
    ("0x10", 0), ("inf", 0), ("infinity", 0), ("nan", 0), ("", 0), ("7 s", 0), (", 7", 0),
  ]

  @Test func `the age of an answer is a number of seconds, whatever its server says`() async throws
  {
    let ages = Self.ages
    let sandbox = try FaceSandbox { request in
      let index = Int(request.target.dropFirst()) ?? 0
      return OriginAnswer("x", fields: ["Age: \(ages[index].0)"])
    }
    for (index, (text, seconds)) in ages.enumerated() {
      let (_, response) = try await sandbox.cache.data(for: sandbox.request("/\(index)"))
      let metadata = try #require(response.metadata)
      #expect(metadata.source == .network && metadata.age == seconds, "\(text)")
      #expect(metadata.freshness == nil && !metadata.isStale)
    }
  }

  @Test func `the age of a downloaded file is a number of seconds, too, and grows`() async throws {
    let ages = Self.ages
    let sandbox = try FaceSandbox { request in
      let index = Int(request.target.dropFirst()) ?? 0
      return OriginAnswer("x", fields: ["Age: \(ages[index].0)"])
    }
    for (index, (text, seconds)) in ages.enumerated() {
      let file = sandbox.folder.appendingPathComponent("\(index)")
      let response = try await sandbox.cache.download(
        for: sandbox.request("/\(index)"), to: file, settings: DownloadSettings(expiresAfter: 0))
      let metadata = try #require(response.metadata)
      #expect(metadata.source == .network && !metadata.isStale)
      #expect(metadata.age == seconds, "\(text)")
      #expect(metadata.download?.file.path == file.path)
    }
  }

  @Test func `the age of a file counts from when its server last confirmed it`() async throws {
    let sandbox = try FaceSandbox { request in
      request.value(of: "If-None-Match") == nil
        ? OriginAnswer("x", fields: ["ETag: \"1\"", "Age: 5"]) : OriginAnswer("", status: 304)
    }
    let file = sandbox.folder.appendingPathComponent("file")
    for (passed, age, source) in [
      (0, 5, DownloadedFile.Source.network), (1000, 0, .confirmed), (10, 10, .file),
    ] {
      sandbox.clock.advance(bySeconds: Double(passed))
      if source == .file { sandbox.cache.offlineMode = .always }
      let metadata = try await sandbox.cache.download(for: sandbox.request(), to: file).metadata
      #expect(metadata?.age == TimeInterval(age) && metadata?.download?.source == source)
    }
  }

  @Test func `what the server has just confirmed is not stale, whatever its fields say`()
    async throws
  {
    let sandbox = try FaceSandbox { request in
      let fields = ["ETag: \"1\"", "Cache-Control: no-cache"]
      return request.value(of: "If-None-Match") == nil
        ? OriginAnswer("x", fields: fields) : OriginAnswer("", status: 304, fields: fields)
    }
    for source in [ResponseMetadata.Source.network, .memory] {
      sandbox.clock.advance(bySeconds: 10)
      let (_, response) = try await sandbox.cache.data(for: sandbox.request())
      let metadata = try #require(response.metadata)
      #expect(metadata.source == source && !metadata.isStale)
    }
    sandbox.cache.offlineMode = .always
    let (_, response) = try await sandbox.cache.data(for: sandbox.request())
    #expect(response.metadata?.isStale == true)
  }

  @Test func `with a lifetime of the caller, a response is fresh for what is left of it`()
    async throws
  {
    let sandbox = try FaceSandbox { request in
      switch request.target {
      case "/unstored": OriginAnswer("x", fields: ["Cache-Control: no-store"])
      default: OriginAnswer("x", fields: ["ETag: \"1\"", "Cache-Control: no-cache"])
      }
    }
    for (passed, left) in [(0, 100), (40, 60), (59, 1), (1, 100)] as [(Int64, TimeInterval)] {
      sandbox.clock.advance(bySeconds: Double(passed))
      let (_, response) = try await sandbox.cache.data(
        for: sandbox.request(), expiresAfter: 100)
      let metadata = try #require(response.metadata)
      #expect(metadata.freshness == left && !metadata.isStale)
      let isHit = passed == 40 || passed == 59
      #expect(metadata.reason.contains("fresh for \(Int(left)) s") == isHit)
      #expect(metadata.cacheStatus.contains("; ttl=-\(passed == 59 ? 99 : passed)") == isHit)
    }
    sandbox.clock.advance(bySeconds: 101)
    sandbox.cache.offlineMode = .always
    let (_, response) = try await sandbox.cache.data(for: sandbox.request(), expiresAfter: 100)
    #expect(response.metadata?.freshness == -1 && response.metadata?.isStale == true)
    sandbox.cache.offlineMode = .never
    let (_, other) = try await sandbox.cache.data(
      for: sandbox.request("/unstored"), expiresAfter: 100)
    #expect(other.metadata?.freshness == nil)
  }

  @Test func `a policy that disregards the lifetime of the caller reports that of the server`()
    async throws
  {
    let sandbox = try FaceSandbox { _ in fresh("x", seconds: 3600) }
    var request = sandbox.request()
    _ = try await sandbox.cache.data(for: request)
    sandbox.clock.advance(bySeconds: 200)
    request.cachePolicy = .returnCacheDataElseLoad
    let (_, response) = try await sandbox.cache.data(for: request, expiresAfter: 100)
    #expect(response.metadata?.freshness == 3400 && response.metadata?.isStale == false)
    // Of what comes from the network, neither is reported.
    let (_, fetched) = try await sandbox.cache.data(
      for: sandbox.request("/other", .returnCacheDataElseLoad), expiresAfter: 100)
    #expect(fetched.metadata?.freshness == nil)
  }

  @Test func `a response in the store and a file agree on a lifetime of the caller`() async throws {
    let sandbox = try FaceSandbox { _ in OriginAnswer("x", fields: ["Cache-Control: no-cache"]) }
    let file = sandbox.folder.appendingPathComponent("file")
    for left in [100, 60] as [TimeInterval] {
      let stored = try await sandbox.cache.data(for: sandbox.request(), expiresAfter: 100).1
      let inFile = try await sandbox.cache.download(
        for: sandbox.request(), to: file, settings: DownloadSettings(expiresAfter: 100))
      #expect(stored.metadata?.freshness == left)
      #expect(inFile.metadata?.freshness?.rounded() == left)
      #expect(stored.metadata?.isStale == false && inFile.metadata?.isStale == false)
      sandbox.clock.advance(bySeconds: 40)
    }
  }

  @Test func `without a lifetime, or with a clock that was set back, the reason says so`()
    async throws
  {
    let sandbox = try FaceSandbox { request in
      let seconds = request.target == "/none" ? 0 : 1000
      return fresh("x", seconds: seconds, ["ETag: \"1\""])
    }
    let (cache, none, usual) = (sandbox.cache, sandbox.request("/none"), sandbox.request())
    func metadata(_ request: URLRequest) async throws -> ResponseMetadata {
      try #require(await cache.data(for: request).1.metadata)
    }
    for request in [none, usual] { _ = try await metadata(request) }
    cache.offlineMode = .always
    let old = try await metadata(none)
    #expect(old.reason == "it is stored, and may be served although it is not fresh")
    #expect(try await metadata(usual).reason == "it is stored, and fresh for 1000 s")
    sandbox.clock.advance(bySeconds: -3600)
    let future = try await metadata(usual)
    #expect(future.isStale && future.cacheStatus.hasSuffix("; ttl=0"))
    let setBack = "it is from a later time than now, because the clock was set back"
    #expect(future.reason == "it is stored, and may be served although " + setBack)
    sandbox.clock.advance(bySeconds: 3570)
    let kept = try await cache.data(for: usual, expiresAfter: 1000).1.metadata
    #expect(kept?.reason == future.reason)
    sandbox.clock.advance(bySeconds: 30)
    cache.offlineMode = .never
    let must = "the stored response must be validated: "
    #expect(try await metadata(none).reason == must + "it is not fresh")
    sandbox.clock.advance(bySeconds: -3600)
    #expect(try await metadata(usual).reason == must + setBack)
  }
}
