import CacheSystem
import Foundation
import HTTPTransports
import Synchronization
import TestSupport
import Testing

@testable import HTTPUploads

struct FormTests {
  private let temporary = TemporaryFolder()

  private var folder: URL { temporary.url }

  /// Reads a body to its end, as a transport does.
  private func bytes(_ body: RequestBody) async throws -> [UInt8] {
    guard case .stream(let length, let source) = body else { return [] }
    var bytes: [UInt8] = []
    while let piece = try await source.next() { bytes += piece }
    #expect(UInt64(bytes.count) == length)
    return bytes
  }

  private func text(_ body: UploadBody) async throws -> String {
    String(decoding: try await bytes(body.requestBody()), as: UTF8.self)
  }

  @Test("names and values are encoded as browsers do it, in their order")
  func urlEncoded() async throws {
    var form = URLEncodedForm([.init("a", "1"), .init("a", "x y+z"), .init("", "")])
    form.add("näme&=", "ü/€😀*-._~\r\n%\u{0}")
    #expect(
      form.encoded == "a=1&a=x+y%2Bz&=&n%C3%A4me%26%3D="
        + "%C3%BC%2F%E2%82%AC%F0%9F%98%80*-._%7E%0D%0A%25%00")
    #expect(form.body.contentType == "application/x-www-form-urlencoded")
    #expect(try await text(form.body) == form.encoded)
    #expect(URLEncodedForm().encoded == "")
  }

  @Test("a form with files has the form of RFC 7578")
  func multipart() async throws {
    let file = folder.appendingPathComponent("a \"b\".txt").path
    try Data("content".utf8).write(to: URL(fileURLWithPath: file))
    var form = MultipartForm()
    form.add("text", "välue\r\n--x")
    form.add("we\"ird\r\nX: y", "")
    form.add("file", file: file, contentType: "text/plain")
    form.add("file", bytes: [1, 2], fileName: "ü\n.bin", contentType: "application/x")
    let body = try form.body(boundary: "x")
    #expect(body.contentType == "multipart/form-data; boundary=x")
    #expect(
      try await text(body) == """
        --x\r
        Content-Disposition: form-data; name="text"\r
        \r
        välue\r
        --x\r
        --x\r
        Content-Disposition: form-data; name="we%22ird%0D%0AX: y"\r
        \r
        \r
        --x\r
        Content-Disposition: form-data; name="file"; filename="a %22b%22.txt"\r
        Content-Type: text/plain\r
        \r
        content\r
        --x\r
        Content-Disposition: form-data; name="file"; filename="ü%0A.bin"\r
        Content-Type: application/x\r
        \r
        \u{1}\u{2}\r
        --x--\r\n
        """)
    #expect(try await text(MultipartForm().body(boundary: "x")) == "--x--\r\n")
  }

  @Test("each body has a boundary of its own, of 192 random bits")
  func boundary() throws {
    let form = MultipartForm()
    let types = try (0..<100).map { _ in try #require(form.body().contentType) }
    #expect(Set(types).count == 100)
    #expect(
      types.allSatisfy { $0.count == "multipart/form-data; boundary=OfflineCache-".count + 48 })
  }

  @Test("a large file arrives whole, twice if necessary, and progress is reported")
  func largeFile() async throws {
    let file = folder.appendingPathComponent("large")
    var random = SplitMix64(seed: 1)
    let content = random.bytes(3_000_001)
    try Data(content).write(to: file)
    let told = Mutex<[UploadProgress]>([])
    let body = try UploadBody(file: file.path).requestBody { progress in
      told.withLock { $0.append(progress) }
    }
    #expect(try await bytes(body) == content)
    let progress = told.withLock { $0 }
    #expect(progress.count == 12)
    #expect(progress.last == UploadProgress(sent: 3_000_001, total: 3_000_001))
    #expect(zip(progress, progress.dropFirst()).allSatisfy { $0.sent < $1.sent })
    let again = try #require(Optional(body).repeated?.body)
    #expect(try await bytes(again) == content)
  }

  @Test("an empty file is sent as such")
  func emptyFile() async throws {
    let file = folder.appendingPathComponent("empty").path
    try Data().write(to: URL(fileURLWithPath: file))
    #expect(try await bytes(UploadBody(file: file).requestBody()).isEmpty)
    var form = MultipartForm()
    form.add("f", file: file)
    #expect(try await text(form.body(boundary: "x")).hasSuffix("\r\n\r\n\r\n--x--\r\n"))
  }

  @Test("a missing file, or a value that cannot be sent, is reported before anything is sent")
  func unreadable() throws {
    let missing = folder.appendingPathComponent("missing").path
    var form = MultipartForm()
    form.add("f", file: missing)
    #expect(throws: UploadError(.unreadable(.notFound), path: missing)) { try form.body() }
    #expect(throws: UploadError(.unreadable(.notFound), path: missing)) {
      try UploadBody(file: missing)
    }
    #expect(throws: UploadError(.notAFile, path: folder.path)) {
      try UploadBody(file: folder.path)
    }
    #expect(throws: UploadError(.notAFile, path: "/dev/zero")) {
      try UploadBody(file: "/dev/zero")
    }
    var odd = MultipartForm()
    odd.add("f", bytes: [], contentType: "text/plain\r\nX: y")
    #expect(throws: UploadError(.mediaType, path: "f")) { try odd.body() }
    #expect("\(UploadError(.unreadable(.notFound), path: missing))".contains(missing))
  }

  /// What happens to a file between two pieces.
  enum Change: CaseIterable {
    case grows, shrinks, isWritten, isReplaced, goesAway
  }

  @Test("a file that changes while it is sent ends the upload", arguments: Change.allCases)
  func changes(change: Change) async throws {
    let file = folder.appendingPathComponent("f")
    try Data(repeating: 1, count: 1_000_000).write(to: file)
    let body = try UploadBody(file: file.path)
    guard case .stream(_, let source) = body.requestBody() else { return }
    // Before it is opened for sending, only another file or length can be seen.
    if change == .isReplaced || change == .goesAway {
      try FileManager.default.removeItem(at: file)
      if change == .isReplaced { try Data(repeating: 1, count: 1_000_000).write(to: file) }
    } else {
      _ = try await source.next()
      let handle = try FileHandle(forUpdating: file)
      switch change {
      case .grows: try handle.seekToEnd()
      case .shrinks: try handle.truncate(atOffset: 500_000)
      default: break
      }
      if change != .shrinks { try handle.write(contentsOf: Data([2])) }
      try handle.close()
    }
    let error = await #expect(throws: UploadError.self) {
      while try await source.next() != nil {}
    }
    let cause: UploadError.Cause = change == .goesAway ? .unreadable(.notFound) : .changed
    #expect(error == UploadError(cause, path: file.path))
  }
}
