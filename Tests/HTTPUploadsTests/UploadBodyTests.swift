import Foundation
import HTTPTransports
import Synchronization
import TestSupport
import Testing

@testable import HTTPUploads

struct UploadBodyTests {
  private let temporary = TemporaryFolder()

  private var folder: URL { temporary.url }

  @Test func `a large file arrives whole, twice if necessary, and progress is reported`()
    async throws
  {
    let file = folder.appendingPathComponent("large")
    var random = SplitMix64(seed: 1)
    let content = random.bytes(3_000_001)
    try Data(content).write(to: file)
    let told = Mutex<[UploadProgress]>([])
    let body = try UploadBody(file: file.path).requestBody { progress in
      told.withLock { $0.append(progress) }
    }
    #expect(try await body.readAll() == content)
    let progress = told.withLock { $0 }
    #expect(progress.count == 12)
    #expect(progress.last == UploadProgress(sent: 3_000_001, total: 3_000_001))
    #expect(zip(progress, progress.dropFirst()).allSatisfy { $0.sent < $1.sent })
    let again = try #require(Optional(body).repeated?.body)
    #expect(try await again.readAll() == content)
  }

  @Test func `an empty file is sent as such`() async throws {
    let file = folder.appendingPathComponent("empty").path
    try Data().write(to: URL(fileURLWithPath: file))
    #expect(try await UploadBody(file: file).requestBody().readAll().isEmpty)
    var form = MultipartForm()
    form.add("f", file: file)
    #expect(try await form.body(boundary: "x").readText().hasSuffix("\r\n\r\n\r\n--x--\r\n"))
  }
}
