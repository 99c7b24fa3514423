import CacheSystem
import Foundation
import TestSupport
import Testing

@testable import HTTPUploads

struct MultipartFormTests {
  private let temporary = TemporaryFolder()

  private var folder: URL { temporary.url }

  @Test func `a form with files has the form of RFC 7578`() async throws {
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
      try await body.readText() == """
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
    #expect(try await MultipartForm().body(boundary: "x").readText() == "--x--\r\n")
  }

  @Test func `each body has a boundary of its own, of 192 random bits`() throws {
    let form = MultipartForm()
    let types = try (0..<100).map { _ in try #require(form.body().contentType) }
    #expect(Set(types).count == 100)
    #expect(
      types.allSatisfy { $0.count == "multipart/form-data; boundary=OfflineCache-".count + 48 })
  }

  @Test func `a missing file, or a value that cannot be sent, is reported before anything is sent`()
    throws
  {
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
}
