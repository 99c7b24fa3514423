import CacheSystem
import ClientTesting
import Foundation
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct DownloadBadInputTests {
  private let sandbox = DownloadSandbox()
  private let server = FileServer(content(1000))

  private func cause(
    _ change: (inout DownloadRequest) -> Void
  ) async -> DownloadError.Cause? {
    var request = sandbox.asked()
    change(&request)
    return await sandbox.failure(sandbox.downloader(server), request)
  }

  @Test func `a directory where the file should go`() async throws {
    try FileManager.default.createDirectory(
      atPath: sandbox.path(), withIntermediateDirectories: false)
    #expect(await cause { _ in } == .isDirectory)
    #expect(server.requests.isEmpty)
    #expect(sandbox.names == ["file"])
  }

  @Test func `a pipe where the file should go is not replaced`() async throws {
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    #expect(unsafe mkfifo(sandbox.path(), 0o600) == 0)
    #expect(await cause { _ in } == .notAFile)
    #expect(server.requests.isEmpty)
    #expect(sandbox.names == ["file"])
    let attributes = try FileManager.default.attributesOfItem(atPath: sandbox.path())
    #expect(attributes[.type] as? FileAttributeType == .typeUnknown)
  }

  @Test(arguments: [
    "", "/", ".", "..", "a/", "a/.", "a/..", "a\0b", "a/.offlinecache-0.part", ".OfflineCache-",
    "a/.o\u{FB04}inecache-", "a/.offline\u{200C}cache-", "a/.offlinecache-\u{200D}",
  ])
  func `a path that names no file`(name: String) async {
    #expect(await cause { $0.file = name } == .invalidPath)
  }

  @Test func `a name that is too long, and the longest`() async throws {
    let long = String(repeating: "x", count: 256)
    #expect(await cause { $0.file = sandbox.path(long) } == .invalidPath)
    #expect(await cause { $0.file = sandbox.path(String(long.dropLast())) } == nil)
    #expect(sandbox.bytes(String(long.dropLast())) == content(1000))
  }

  @Test func `a folder that is missing`() async {
    #expect(
      await cause { $0.file = sandbox.path("no/file") } == .file(SystemError(ENOENT)))
  }

  @Test func `a link is replaced, and not followed`() async throws {
    try FileManager.default.createSymbolicLink(
      atPath: sandbox.path(), withDestinationPath: "/etc/passwd")
    #expect(await cause { _ in } == nil)
    #expect(sandbox.bytes() == content(1000))
    let attributes = try FileManager.default.attributesOfItem(atPath: sandbox.path())
    #expect(attributes[.type] as? FileAttributeType == .typeRegular)
  }

  @Test(arguments: ["fifo", "directory", "link"])
  func `something else where the part should go`(kind: String) async throws {
    server.fail(.init(cut: 500))
    #expect(await cause { _ in } != nil)
    let part = try sandbox.hidden(".part")
    try FileManager.default.removeItem(atPath: part)
    switch kind {
    case "fifo":
      // Safety: the path is passed as a zero-terminated copy that lives during the call.
      #expect(unsafe mkfifo(part, 0o600) == 0)
    case "link":
      try FileManager.default.createSymbolicLink(
        atPath: part, withDestinationPath: "/etc/passwd")
    default:
      try FileManager.default.createDirectory(atPath: part, withIntermediateDirectories: false)
    }
    guard case .file? = await cause({ _ in }) else {
      return #expect(Bool(false), "it is taken for a part")
    }
  }

  @Test func `other methods than GET`() async {
    #expect(
      await cause { $0.request.method = HTTPMethod(rawValue: "POST") } == .method("POST"))
    #expect(server.requests.isEmpty)
  }

  @Test func `a circle of redirects`() async {
    for _ in 0..<30 { server.fail(.init(status: 302, fields: [HTTPField("Location", "/big")])) }
    #expect(await cause { _ in } == .tooManyRedirects(maximum: 20))
    #expect(server.requests.count == 21)
  }

  @Test func `a redirect to a file`() async {
    server.fail(.init(status: 302, fields: [HTTPField("Location", "file:///etc/passwd")]))
    #expect(await cause { _ in } == .unusableRedirect("file:///etc/passwd"))
    server.fail(.init(status: 302, fields: [HTTPField("Location", "ftp://u:secret@h/x")]))
    #expect(await cause { _ in } == .unusableRedirect("ftp://h/x"))
  }

  @Test func `a redirect to another host gets no credentials; its URL is reported`() async throws {
    server.fail(
      .init(status: 302, fields: [HTTPField("Location", "http://other.example/x")]))
    var request = sandbox.asked()
    request.request.fields = [HTTPField("Authorization", "Basic eA=="), HTTPField("X", "y")]
    let file = try await sandbox.downloader(server).download(request)
    #expect(server.requests[1].url.string == "http://other.example/x")
    #expect(!server.requests[1].fields.contains("Authorization"))
    #expect(!server.requests[1].fields.contains("X"))
    #expect(file.record.answeredBy == "http://other.example/x")
    #expect(file.record.url == "http://example.com/big")
  }

  @Test func `the caller's own range and conditions do not count`() async throws {
    var request = sandbox.asked()
    request.request.fields = [
      HTTPField("Range", "bytes=1-2"), HTTPField("If-None-Match", "\"1\""),
    ]
    _ = try await sandbox.downloader(server).download(request)
    #expect(sandbox.bytes() == content(1000))
  }

  @Test func `errors name the URL, or the file, and what to do`() {
    let url = "http://example.com/a"
    for cause: DownloadError.Cause in [
      .cancelled, .status(404), .tooManyRedirects(maximum: 3), .unusableRedirect("file:"),
      .method("POST"), .wrongLength(expected: 1, received: 2), .isDirectory,
      .notAFile, .invalidPath, .file(SystemError(ENOSPC)), .file(SystemError(EMFILE)),
    ] {
      let text = DownloadError(cause, url: url, path: "/tmp/x").description
      #expect(text.contains(url) || text.contains("/tmp/x"))
      #expect(text.contains(";") || text.contains(","))
    }
  }
}
