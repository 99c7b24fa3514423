import LoopbackOrigin
import Synchronization
import Testing

@testable import OfflineCacheKit

struct OfflineCacheUploadTests {
  private func text(_ answer: (Data, OfflineURLResponse)) -> String {
    String(decoding: answer.0, as: UTF8.self)
  }

  private func file(_ sandbox: FaceSandbox, _ bytes: [UInt8]) throws -> URL {
    let file = sandbox.folder.appendingPathComponent("content.bin")
    try Data(bytes).write(to: file)
    return file
  }

  @Test("a file goes with its length, by POST or the method of the request")
  func wholeFile() async throws {
    let sandbox = try FaceSandbox { request in
      OriginAnswer(
        "\(request.method) \(request.value(of: "Content-Length") ?? "") \(request.body.count)")
    }
    let file = try file(sandbox, [UInt8](repeating: 7, count: 1_000_000))
    let told = Mutex<[UploadProgress]>([])
    let cache = sandbox.cache
    let posted = try await cache.upload(for: sandbox.request(), fromFile: file) { progress in
      told.withLock { $0.append(progress) }
    }
    #expect(text(posted) == "POST 1000000 1000000")
    #expect(told.withLock { $0.last } == UploadProgress(sent: 1_000_000, total: 1_000_000))
    var put = sandbox.request()
    put.httpMethod = "PUT"
    #expect(try await text(cache.upload(for: put, fromFile: file)) == "PUT 1000000 1000000")
    #expect(sandbox.origin.requests.last?.body == [UInt8](repeating: 7, count: 1_000_000))
  }

  @Test("forms go with their media type")
  func forms() async throws {
    let sandbox = try FaceSandbox { request in
      OriginAnswer(
        [UInt8]((request.value(of: "Content-Type") ?? "").utf8) + [10] + request.body)
    }
    let plain = URLEncodedForm([.init("a", "ä b"), .init("a", "2")])
    #expect(
      try await text(sandbox.cache.upload(for: sandbox.request(), form: plain))
        == "application/x-www-form-urlencoded\na=%C3%A4+b&a=2")
    var form = MultipartForm()
    form.add("name", "value")
    form.add("file", file: try file(sandbox, Array("content".utf8)).path)
    let answer = try await text(sandbox.cache.upload(for: sandbox.request(), form: form))
    let type = answer.prefix { $0 != "\n" }
    let boundary = try #require(type.components(separatedBy: "boundary=").last)
    #expect(answer.hasPrefix("multipart/form-data; boundary=\(boundary)\n--\(boundary)\r\n"))
    #expect(answer.contains("filename=\"content.bin\"\r\n"))
    #expect(answer.hasSuffix("\r\n\r\ncontent\r\n--\(boundary)--\r\n"))
  }

  @Test("an upload that succeeds makes what is stored invalid, and one that fails does not")
  func invalidation() async throws {
    let count = Mutex(0)
    let sandbox = try FaceSandbox { request in
      if request.method == "GET" {
        return fresh("\(count.withLock { $0 += 1; return $0 })")
      }
      return OriginAnswer(
        "", status: request.target == "/refused" ? 500 : 201,
        fields: request.target == "/form" ? ["Location: /a", "Content-Location: /b"] : [])
    }
    let cache = sandbox.cache
    let form = URLEncodedForm([.init("a", "1")])
    func get(_ target: String) async throws -> String {
      try await text(cache.data(for: sandbox.request(target)))
    }
    #expect(try await get("/a") == "1")
    #expect(try await get("/a") == "1")
    _ = try await cache.upload(for: sandbox.request("/a"), form: form)
    #expect(try await get("/a") == "2")
    #expect(try await get("/b") == "3")
    _ = try await cache.upload(for: sandbox.request("/form"), form: form)
    #expect(try await get("/a") == "4")
    #expect(try await get("/b") == "5")
    #expect(try await get("/refused") == "6")
    _ = try await cache.upload(for: sandbox.request("/refused"), form: form)
    #expect(try await get("/refused") == "6")
  }

  @Test("a missing file is an error before anything is sent")
  func missing() async throws {
    let sandbox = try FaceSandbox()
    let nothing = sandbox.folder.appendingPathComponent("nothing")
    for (path, code) in [(nothing, URLError.fileDoesNotExist), (sandbox.folder, .fileIsDirectory)] {
      let error = await #expect(throws: URLError.self) {
        try await sandbox.cache.upload(for: sandbox.request(), fromFile: path)
      }
      #expect(error?.code == code)
      #expect(error?.cause is UploadError)
    }
    #expect(sandbox.origin.requests.isEmpty)
  }

  @Test("a file that changes while it is sent is never taken for whole")
  func changed() async throws {
    let sandbox = try FaceSandbox()
    let file = try file(sandbox, [UInt8](repeating: 7, count: 4_000_000))
    let error = await #expect(throws: URLError.self) {
      try await sandbox.cache.upload(for: sandbox.request(), fromFile: file) { progress in
        guard progress.sent < 1_000_000, let handle = try? FileHandle(forUpdating: file) else {
          return
        }
        try? handle.truncate(atOffset: 3_000_000)
      }
    }
    #expect(error?.code == .requestBodyStreamExhausted)
    let client = try #require(error?.cause as? ClientError)
    #expect(client.description.contains(file.path))
    // The origin keeps only whole requests.
    #expect(sandbox.origin.requests.isEmpty)
  }

  @Test("a form is sent again to a server that redirects")
  func redirected() async throws {
    let sandbox = try FaceSandbox { request in
      request.target == "/a" ? .redirect("/b", status: 307) : OriginAnswer(request.body)
    }
    let file = try file(sandbox, Array("content".utf8))
    #expect(
      try await text(sandbox.cache.upload(for: sandbox.request(), fromFile: file)) == "content")
  }
}
