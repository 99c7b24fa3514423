import LoopbackOrigin
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5)))
struct OfflineCacheStoredTests {
  @Test func `what was fetched is there with its response, until it is removed`() async throws {
    let sandbox = try FaceSandbox { _ in fresh("hello", seconds: 100, ["X-A: b"]) }
    #expect(sandbox.cache.cachedResponse(for: sandbox.request()) == nil)
    #expect(sandbox.cache.expirationDate(for: sandbox.request()) == nil)
    _ = await text(sandbox.cache, sandbox.request())
    sandbox.clock.advance(bySeconds: 500)
    let cached = try #require(sandbox.cache.cachedResponse(for: sandbox.request()))
    #expect(cached.data == Data("hello".utf8))
    #expect(cached.userInfo == nil)
    let response = try #require(cached.response as? OfflineURLResponse)
    #expect(response.value(forHTTPHeaderField: "X-A") == "b")
    #expect(response.metadata?.isStale == true)
    let expiry = try #require(sandbox.cache.expirationDate(for: sandbox.request()))
    let now = TimeInterval(sandbox.clock.now() / 1_000_000_000)
    #expect(abs(expiry.timeIntervalSince1970 - (now - 400)) <= 1)
    #expect(try sandbox.cache.remove(for: sandbox.request()))
    #expect(try sandbox.cache.remove(for: sandbox.request()) == false)
    #expect(sandbox.cache.cachedResponse(for: sandbox.request()) == nil)
  }

  @Test func `all responses of a pinned URL stay, whatever selects them`() async throws {
    let body = String(repeating: "x", count: 100_000)
    let sandbox = try FaceSandbox(capacity: 1 << 20) {
      fresh($0.target + body, ["Vary: Accept-Language"])
    }
    let cache = sandbox.cache
    func request(_ language: String, _ target: String = "/a") -> URLRequest {
      var request = sandbox.request(target)
      request.setValue(language, forHTTPHeaderField: "Accept-Language")
      return request
    }
    #expect(try !cache.pin(request("en")) && !cache.unpin(request("en")))
    for language in ["en", "de"] { _ = await text(cache, request(language)) }
    #expect(try cache.pin(request("en")))
    #expect(cache.store.statistics.pinnedEntries == 2)
    for number in 0..<20 { _ = await text(cache, request("en", "/\(number)")) }
    for language in ["en", "de"] { #expect(cache.cachedResponse(for: request(language)) != nil) }
    #expect(cache.cachedResponse(for: request("en", "/0")) == nil)
    #expect(try cache.unpin(request("fr")))
    #expect(cache.store.statistics.pinnedEntries == 0)
    // Half of the capacity may be pinned.
    let error = #expect(throws: StoreError.self) {
      for number in 14..<20 { try cache.pin(request("en", "/\(number)")) }
    }
    #expect(error?.code == .pinQuotaExceeded)
    #expect(try !cache.pin(URLRequest(url: URL(fileURLWithPath: "/a"))))
  }

  @Test func `requests are equal by method and normal URL, or by the user's function`() async throws
  {
    let rule = KeyRule.url(ignoringQueryParameters: ["signature"])
    let sandbox = try FaceSandbox(OfflineCacheOptions(keyRule: rule)) { fresh($0.target) }
    #expect(await text(sandbox.cache, sandbox.request("/x/../a?b=1&signature=1")) != "")
    for same in ["/a?b=1&signature=2", "/%61?b=1"] {
      #expect(sandbox.cache.cachedResponse(for: sandbox.request(same)) != nil)
    }
    for other in ["/a?b=2", "/a", "/A?b=1"] {
      #expect(sandbox.cache.cachedResponse(for: sandbox.request(other)) == nil)
    }
    var post = sandbox.request("/a?b=1")
    post.httpMethod = "POST"
    #expect(sandbox.cache.cachedResponse(for: post) == nil)
    var head = sandbox.request("/a?b=1")
    head.httpMethod = "HEAD"
    #expect(sandbox.cache.cachedResponse(for: head)?.data.isEmpty == true)
  }

  @Test func `the age that a response has counts`() throws {
    let sandbox = try FaceSandbox()
    let response = try #require(
      HTTPURLResponse(
        url: sandbox.origin.url("/a"), statusCode: 200, httpVersion: "HTTP/1.1",
        headerFields: ["Cache-Control": "max-age=3600", "Age": "3500"]))
    try sandbox.cache.store(
      CachedURLResponse(response: response, data: Data("old".utf8)), for: sandbox.request())
    func left() -> TimeInterval? {
      sandbox.cache.expirationDate(for: sandbox.request()).map {
        $0.timeIntervalSince1970 - TimeInterval(sandbox.clock.now() / 1_000_000_000)
      }
    }
    #expect(abs(try #require(left()) - 100) <= 1)
    // Stored once more, it is not younger.
    sandbox.clock.advance(bySeconds: 60)
    let stored = try #require(sandbox.cache.cachedResponse(for: sandbox.request()))
    try sandbox.cache.store(stored, for: sandbox.request())
    #expect(abs(try #require(left()) - 40) <= 1)
  }

  @Test func `what is stored by hand answers, with the user info that has a form on disk`()
    async throws
  {
    let sandbox = try FaceSandbox()
    let response = try #require(
      HTTPURLResponse(
        url: sandbox.origin.url("/mine"), statusCode: 200, httpVersion: "HTTP/1.1",
        headerFields: [
          "Cache-Control": "max-age=60", "Content-Encoding": "gzip", "Content-Length": "999",
          "Vary": "Accept-Encoding", "Content-Type": "text/plain",
        ]))
    let date = Date(timeIntervalSince1970: 1_800_000_000)
    let info: [AnyHashable: Any] = [
      "text": "v\u{E4}lue", "number": 7, "date": date, "data": Data([1, 2]), "flag": true,
      "list": ["a", ["b": 1.5]] as [Any], "object": NSObject(), 3: "a key that is no text",
      "mixed": ["deep": NSObject()],
    ]
    let lost = try sandbox.cache.store(
      CachedURLResponse(
        response: response, data: Data("by hand".utf8), userInfo: info, storagePolicy: .allowed),
      for: sandbox.request("/mine"))
    #expect(Set(lost) == ["object", 3, "mixed"])
    let cached = try #require(sandbox.cache.cachedResponse(for: sandbox.request("/mine")))
    #expect(cached.data == Data("by hand".utf8))
    let kept = try #require(cached.userInfo)
    #expect(Set(kept.keys) == ["text", "number", "date", "data", "flag", "list"])
    #expect(kept["text"] as? String == "v\u{E4}lue")
    #expect(kept["number"] as? Int == 7)
    #expect(kept["date"] as? Date == date)
    #expect(kept["data"] as? Data == Data([1, 2]))
    #expect(kept["flag"] as? Bool == true)
    #expect((kept["list"] as? [Any])?.count == 2)
    #expect(await text(sandbox.cache, sandbox.request("/mine")) == "by hand")
    #expect(sandbox.origin.requests.isEmpty)
  }

  @Test func `what may not be stored says why`() throws {
    let sandbox = try FaceSandbox()
    func store(
      _ fields: [String: String], _ policy: URLCache.StoragePolicy = .allowed, status: Int = 200,
      method: String = "GET"
    ) -> String {
      var request = sandbox.request("/mine")
      request.httpMethod = method
      guard
        let response = HTTPURLResponse(
          url: sandbox.origin.url("/mine"), statusCode: status, httpVersion: nil,
          headerFields: fields)
      else { return "no response" }
      do {
        try sandbox.cache.store(
          CachedURLResponse(
            response: response, data: Data("x".utf8), userInfo: nil, storagePolicy: policy),
          for: request)
        return "stored"
      } catch {
        return error.description
      }
    }
    #expect(store(["Cache-Control": "no-store"]).contains("the response says no-store"))
    #expect(store(["Vary": "*"]).contains("Vary: *"))
    #expect(store([:], method: "POST").contains("POST"))
    #expect(store([:], .notAllowed).contains("storage policy"))
    #expect(store(["Cache-Control": "no-store"], .allowedInMemoryOnly).contains("no-store"))
    #expect(store([:]) == "stored")
    let other = URLResponse(
      url: sandbox.origin.url(), mimeType: nil, expectedContentLength: 1, textEncodingName: nil)
    #expect(throws: StoringError.self) {
      try sandbox.cache.store(
        CachedURLResponse(response: other, data: Data("x".utf8)), for: sandbox.request())
    }
  }

  @Test func `a removal is not undone by an answer that is under way`() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let mayAnswer = DispatchSemaphore(value: 0)
    let sandbox = try FaceSandbox { _ in
      arrived.continuation.yield()
      mayAnswer.wait()
      return fresh("late")
    }
    for removesAll in [false, true] {
      let task = Task { await text(sandbox.cache, sandbox.request()) }
      for await _ in arrived.stream { break }
      if removesAll {
        try sandbox.cache.removeAll()
      } else {
        try sandbox.cache.remove(for: sandbox.request())
      }
      mayAnswer.signal()
      #expect(await task.value == "late")
      #expect(sandbox.cache.cachedResponse(for: sandbox.request()) == nil)
    }
  }

  @Test func `the response with its metadata survives a copy, and an archive without them`()
    async throws
  {
    let sandbox = try FaceSandbox()
    let (_, response) = try await sandbox.cache.data(for: sandbox.request())
    #expect((response.copy() as? OfflineURLResponse)?.metadata == response.metadata)
    let archive = try NSKeyedArchiver.archivedData(
      withRootObject: response, requiringSecureCoding: false)
    let read = try NSKeyedUnarchiver.unarchiveTopLevelObjectWithData(archive) as? HTTPURLResponse
    #expect(read?.statusCode == 200)
    #expect(read?.url == response.url)
  }
}
