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
}
