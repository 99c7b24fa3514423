import CacheClient
import CacheSystem
import Dispatch
import LoopbackOrigin
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5)))
struct OfflineCacheDownloadTests {
  private static let body = String(repeating: "0123456789", count: 300_000)

  @Test func `a download puts the whole file in place, from the network and from the store`()
    async throws
  {
    let sandbox = try FaceSandbox { _ in fresh(Self.body) }
    let file = sandbox.folder.appendingPathComponent("file")
    try Data("old".utf8).write(to: file)
    for source in [ResponseMetadata.Source.network, .disk] {
      let response = try await sandbox.cache.download(for: sandbox.request(), to: file)
      #expect(response.metadata?.source == source)
      #expect(try Data(contentsOf: file) == Data(Self.body.utf8))
      try Data("old".utf8).write(to: file)
    }
    #expect(sandbox.files == ["file"])
    #expect(sandbox.origin.requests.count == 1)
  }

  /// What happens while the answer of a download is under way.
  enum Meanwhile: CaseIterable {
    case nothing, unsafeRequest, removal, removalOfAll
  }

  @Test(arguments: Meanwhile.allCases)
  func `a download is not stored if it was invalidated meanwhile`(event: Meanwhile) async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let sandbox = try FaceSandbox { request in
      guard request.method == "GET" else { return OriginAnswer("changed") }
      arrived.continuation.yield()
      gate.wait()
      return fresh("old")
    }
    let cache = sandbox.cache
    async let response = cache.download(
      for: sandbox.request(), to: sandbox.folder.appendingPathComponent("file"))
    for await _ in arrived.stream { break }
    var put = sandbox.request()
    put.httpMethod = "PUT"
    switch event {
    case .nothing: break
    case .unsafeRequest: _ = try await cache.upload(for: put, from: Data("new".utf8))
    case .removal: try cache.remove(for: sandbox.request())
    case .removalOfAll: try cache.removeAll()
    }
    gate.signal()
    _ = try await response
    #expect((cache.cachedResponse(for: sandbox.request()) != nil) == (event == .nothing))
  }

  @Test(arguments: [false, true])
  func `a file is the whole content, whatever part or condition is asked for`(isStored: Bool)
    async throws
  {
    let sandbox = try FaceSandbox { request in
      request.value(of: "If-None-Match") == nil
        ? fresh("0123456789", ["ETag: \"1\""]) : OriginAnswer("", status: 304)
    }
    if isStored { _ = try await sandbox.cache.data(for: sandbox.request()) }
    let file = sandbox.folder.appendingPathComponent("file")
    for (name, value) in [("Range", "bytes=2-4"), ("If-None-Match", "\"1\"")] {
      try Data("old".utf8).write(to: file)
      var request = sandbox.request()
      request.setValue(value, forHTTPHeaderField: name)
      try await sandbox.cache.download(for: request, to: file)
      #expect(try Data(contentsOf: file) == Data("0123456789".utf8))
    }
    try Data("old".utf8).write(to: file)
    for method in ["HEAD", "POST"] {
      var request = sandbox.request()
      request.httpMethod = method
      let error = await #expect(throws: URLError.self) {
        try await sandbox.cache.download(for: request, to: file)
      }
      #expect(error?.code == .unsupportedURL)
    }
    #expect(try Data(contentsOf: file) == Data("old".utf8))
  }

  @Test func `an empty answer is an empty file`() async throws {
    let sandbox = try FaceSandbox { _ in fresh("") }
    let file = sandbox.folder.appendingPathComponent("file")
    try await sandbox.cache.download(from: sandbox.origin.url("/a"), to: file)
    #expect(try Data(contentsOf: file).isEmpty)
    #expect(sandbox.files == ["file"])
  }

  @Test func `what fails leaves the old file and nothing else`() async throws {
    let sandbox = try FaceSandbox { request in
      request.target == "/cut"
        ? OriginAnswer(Self.body).cut(after: 1_000_000)
        : OriginAnswer("not found", status: 404)
    }
    let file = sandbox.folder.appendingPathComponent("file")
    try Data("old".utf8).write(to: file)
    for (target, code) in [
      ("/cut", URLError.Code.networkConnectionLost), ("/absent", .badServerResponse),
    ] {
      let error = await #expect(throws: URLError.self) {
        try await sandbox.cache.download(for: sandbox.request(target), to: file)
      }
      #expect(error?.code == code)
      #expect(try Data(contentsOf: file) == Data("old".utf8))
      #expect(sandbox.files == ["file"])
    }
  }

  @Test func `a status that is no file is the same error, stored or from the network`()
    async throws
  {
    let sandbox = try FaceSandbox { _ in
      OriginAnswer("not found", status: 404, fields: ["Cache-Control: max-age=1000"])
    }
    let file = sandbox.folder.appendingPathComponent("file")
    let url = sandbox.origin.url("/a")
    for _ in 0..<2 {
      let error = await #expect(throws: URLError.self) {
        try await sandbox.cache.download(from: url, to: file)
      }
      #expect(
        error?.cause as? DownloadError
          == DownloadError(.status(404), url: url.absoluteString, path: file.path))
      _ = try await sandbox.cache.data(from: url)
    }
    #expect(sandbox.origin.requests.count == 2)
  }

  @Test func `a download that must not use the network has a typed cause`() throws {
    let sandbox = try FaceSandbox(OfflineCacheOptions(offlineMode: .always))
    let file = sandbox.folder.appendingPathComponent("file")
    let error = #expect(throws: URLError.self) {
      try sandbox.cache.startDownload(for: sandbox.request(), to: file)
    }
    #expect(error?.code == .notConnectedToInternet)
    #expect((error?.cause as? ClientError)?.cause == .notStored(.policy(.offline)))
  }

  @Test func `a place where no file can be is an error with path and cause`() async throws {
    let sandbox = try FaceSandbox()
    let places: [(URL, URLError.Code)] = [
      (sandbox.folder, .fileIsDirectory),
      (sandbox.folder.appendingPathComponent("none/file"), .cannotCreateFile),
      (sandbox.folder.appendingPathComponent(".offlinecache-0.part.json"), .cannotCreateFile),
      (sandbox.origin.url(), .unsupportedURL),
    ]
    for (place, code) in places {
      let error = await #expect(throws: URLError.self) {
        try await sandbox.cache.download(for: sandbox.request(), to: place)
      }
      #expect(error?.code == code)
      if place.isFileURL { #expect(error?.cause is SystemError) }
      #expect(error?.localizedDescription.contains(place.path) == true)
    }
    #expect(sandbox.files.isEmpty)
  }

  @Test func `a pipe is not replaced, whether the content is stored or comes from the network`()
    async throws
  {
    let sandbox = try FaceSandbox()
    let pipe = sandbox.folder.appendingPathComponent("pipe")
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    #expect(unsafe mkfifo(pipe.path, 0o600) == 0)
    for _ in 0..<2 {
      let error = await #expect(throws: URLError.self) {
        try await sandbox.cache.download(for: sandbox.request(), to: pipe)
      }
      #expect(error?.code == .cannotCreateFile)
      #expect(error?.localizedDescription.contains("not a regular file; choose another") == true)
      let attributes = try FileManager.default.attributesOfItem(atPath: pipe.path)
      #expect(attributes[.type] as? FileAttributeType == .typeUnknown)
      _ = try await sandbox.cache.data(for: sandbox.request())
    }
  }

  @Test func `a success without content replaces no file, even if it is stored`() async throws {
    let sandbox = try FaceSandbox { _ in
      OriginAnswer("", status: 204, fields: ["Cache-Control: max-age=1000"])
    }
    let file = sandbox.folder.appendingPathComponent("file")
    try Data("old".utf8).write(to: file)
    for _ in 0..<2 {
      let error = await #expect(throws: URLError.self) {
        try await sandbox.cache.download(for: sandbox.request(), to: file)
      }
      #expect(error?.code == .badServerResponse)
      #expect(try Data(contentsOf: file) == Data("old".utf8))
      _ = try await sandbox.cache.data(for: sandbox.request())
    }
    #expect(sandbox.origin.requests.count == 2)
  }

  @Test func `a link is replaced itself, and what it leads to stays`() async throws {
    let sandbox = try FaceSandbox()
    let file = sandbox.folder.appendingPathComponent("file")
    try Data("old".utf8).write(to: file)
    // From the network, and from the store.
    for name in ["first", "second"] {
      let link = sandbox.folder.appendingPathComponent(name)
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
      try await sandbox.cache.download(for: sandbox.request(), to: link)
      #expect(try Data(contentsOf: link) == Data("hello".utf8))
      #expect(try Data(contentsOf: file) == Data("old".utf8))
    }
  }

  @Test func `a cancelled download leaves nothing, with a handler, too`() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let sandbox = try FaceSandbox { _ in
      arrived.continuation.yield()
      return .silence
    }
    let file = sandbox.folder.appendingPathComponent("file")
    let ended = AsyncStream.makeStream(of: URLError?.self)
    let task = sandbox.cache.downloadTask(with: sandbox.request(), to: file) { _, error in
      ended.continuation.yield(error)
    }
    task.resume()
    for await _ in arrived.stream { break }
    task.cancel()
    for await error in ended.stream {
      #expect(error?.code == .cancelled)
      break
    }
    #expect(sandbox.files.isEmpty)
  }
}
