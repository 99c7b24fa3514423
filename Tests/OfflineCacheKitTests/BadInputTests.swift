import CurlHTTP
import LoopbackOrigin
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5)))
struct BadInputTests {
  @Test func `a pin for an invalid host is reported, and nothing is made`() throws {
    let temporary = TemporaryFolder()
    let folder = temporary.url.appendingPathComponent("store")
    var options = OfflineCacheOptions()
    options.network.pins["https://example.org"] = [
      try Pin(String(repeating: "AB", count: 32))
    ]
    let error = #expect(throws: StoreError.self) {
      try OfflineCache(capacity: 1 << 20, directory: folder, options: options)
    }
    #expect(error?.code == .invalidNetworkOptions)
    #expect(error?.description.contains("'https://example.org', which is no host") == true)
    #expect(error?.description.contains("libcurl") == false)
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  @Test(arguments: ["nonsense", "file", "HTTP/1"])
  func `a proxy of an unknown scheme is reported, without its password`(scheme: String) throws {
    let temporary = TemporaryFolder()
    let folder = temporary.url.appendingPathComponent("store")
    var options = OfflineCacheOptions()
    options.network.proxy = .url("\(scheme)://alice:secret@proxy.example:3128")
    let error = #expect(throws: StoreError.self) {
      try OfflineCache(capacity: 1 << 20, directory: folder, options: options)
    }
    #expect(error?.code == .invalidNetworkOptions)
    #expect(error?.description.contains("none of http, https, socks5 and socks5h") == true)
    #expect(error?.description.contains("secret") == false)
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  @Test(arguments: ["http:/alice:secret@host/", "alice:secret@host", "http://alice:secret@:99999/"])
  func `the error of a malformed URL does not show a password`(text: String) async throws {
    let sandbox = try FaceSandbox()
    let url = try #require(URL(string: text))
    let error = await #expect(throws: URLError.self) { try await sandbox.cache.data(from: url) }
    #expect(error.map { "\($0) \($0.userInfo)".contains("secret") } == false)
  }

  @Test(arguments: [
    ("ftp://127.0.0.1/a", URLError.Code.unsupportedURL, InvalidURL.Code.unsupportedScheme),
    ("file:///etc/passwd", .unsupportedURL, .unsupportedScheme),
    ("data:,x", .unsupportedURL, .unsupportedScheme),
    ("a/b", .unsupportedURL, .noScheme),
    ("http:///a", .badURL, .noHost),
    ("http:a", .badURL, .noHost),
    ("http://127.0.0.1:99999/", .badURL, .invalidPort),
    ("http://127.0.0.1/" + String(repeating: "a", count: 100_000), .badURL, .tooLong),
  ])
  func `what is no URL to fetch is an error with its cause, asked for or stored`(
    text: String, code: URLError.Code, cause: InvalidURL.Code
  ) async throws {
    let sandbox = try FaceSandbox()
    let url = try #require(URL(string: text))
    let error = await #expect(throws: URLError.self) { try await sandbox.cache.data(from: url) }
    #expect(error?.code == code)
    #expect((error?.cause as? InvalidURL)?.code == cause)
    let request = URLRequest(url: url)
    #expect(sandbox.cache.cachedResponse(for: request) == nil)
    #expect(sandbox.cache.expirationDate(for: request) == nil)
    #expect(try sandbox.cache.remove(for: request) == false)
    let response = try #require(
      HTTPURLResponse(
        url: sandbox.origin.url(), statusCode: 200, httpVersion: nil, headerFields: nil))
    let cached = CachedURLResponse(response: response, data: Data("x".utf8))
    #expect(throws: StoringError.self) { try sandbox.cache.store(cached, for: request) }
  }

  @Test func `an international host is asked for in its xn-- form, or refused`() async throws {
    let sandbox = try FaceSandbox()
    // Foundation makes the xn-- form itself; what is left of it is that the name is unknown.
    let url = try #require(URL(string: "http://b\u{FC}cher.invalid:\(sandbox.origin.port)/"))
    let error = await #expect(throws: URLError.self) { try await sandbox.cache.data(from: url) }
    #expect(error?.code == .cannotFindHost)
    #expect((error?.cause as? ClientError)?.url.hasPrefix("http://xn--bcher-kva.invalid") == true)
  }

  @Test func `a user in the URL becomes a field, and is in no key, response or error`() async throws
  {
    let sandbox = try FaceSandbox { request in
      fresh(request.value(of: "Authorization") ?? "nobody")
    }
    let port = sandbox.origin.port
    let url = try #require(URL(string: "http://us%40er:pa%3Ass@127.0.0.1:\(port)/a"))
    let (data, response) = try await sandbox.cache.data(from: url)
    let expected = "Basic " + Data("us@er:pa:ss".utf8).base64EncodedString()
    #expect(String(decoding: data, as: UTF8.self) == expected)
    #expect(response.url == sandbox.origin.url("/a"))
    #expect(await text(sandbox.cache, sandbox.request()) == "nobody")
    var own = URLRequest(url: url)
    own.setValue("Bearer t", forHTTPHeaderField: "Authorization")
    #expect(await text(sandbox.cache, own) == "Bearer t")
    for key in sandbox.cache.store.entries().map(\.key.description) {
      #expect(key == "GET http://127.0.0.1:\(port)/a")
    }
    sandbox.origin.stop()
    let absent = try #require(URL(string: "http://user:secret@127.0.0.1:\(port)/b"))
    let error = await #expect(throws: URLError.self) { try await sandbox.cache.data(from: absent) }
    #expect(error.map { "\($0) \($0.userInfo)".contains("secret") } == false)
    #expect(error?.failingURL?.absoluteString == "http://127.0.0.1:\(port)/b")
  }

  @Test func `redirects in a circle end with an error`() async throws {
    let sandbox = try FaceSandbox { $0.target == "/a" ? .redirect("/b") : .redirect("/a") }
    #expect(
      await text(sandbox.cache, sandbox.request()) == "\(URLError.httpTooManyRedirects.rawValue)")
    #expect(sandbox.origin.requests.count == 21)
  }

  @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "http://", "javascript:x"])
  func `a redirect to what is no URL to fetch is an error that says so`(location: String)
    async throws
  {
    let sandbox = try FaceSandbox { _ in .redirect(location) }
    let error = await #expect(throws: URLError.self) {
      try await sandbox.cache.data(for: sandbox.request())
    }
    #expect(error?.code == .redirectToNonExistentLocation)
    let text = error?.localizedDescription ?? ""
    #expect(text.contains("the redirect cannot be followed (the redirect leads to"), "\(text)")
    #expect(text.hasSuffix("; report this to the operator of the server"))
  }

  @Test func `a redirect without a place is an answer`() async throws {
    let sandbox = try FaceSandbox { _ in OriginAnswer("where?", status: 302) }
    let (data, response) = try await sandbox.cache.data(for: sandbox.request())
    #expect(response.statusCode == 302)
    #expect(data == Data("where?".utf8))
  }

  @Test func `credentials are not sent on to another host, and come back to their own`()
    async throws
  {
    let other = try LoopbackOrigin { _ in fresh("other") }
    let port = other.port
    let sandbox = try FaceSandbox { request in
      request.target == "/own"
        ? .redirect("/end")
        : request.target == "/end"
          ? fresh("end")
          : .redirect("http://evil:word@localhost:\(port)/")
    }
    for target in ["/own", "/away"] {
      var request = sandbox.request(target)
      request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
      request.setValue("a=b", forHTTPHeaderField: "Cookie")
      let (_, response) = try await sandbox.cache.data(for: request)
      #expect(response.url?.user == nil)
    }
    let end = sandbox.origin.requests.first { $0.target == "/end" }
    #expect(end?.value(of: "Authorization") == "Bearer t")
    #expect(other.requests.count == 1)
    #expect(other.requests.first?.value(of: "Authorization") == nil)
    #expect(other.requests.first?.value(of: "Cookie") == nil)
  }

  @Test func `a field that would be two fields is not sent`() async throws {
    let sandbox = try FaceSandbox()
    var request = sandbox.request()
    // Foundation on Linux leaves it out by itself; where it does not, the request is refused.
    request.setValue("a\r\nX-Evil: 1", forHTTPHeaderField: "X-A")
    _ = await text(sandbox.cache, request)
    request.httpMethod = "GE T"
    #expect(await text(sandbox.cache, request) == "\(URLError.badURL.rawValue)")
    #expect(sandbox.origin.requests.count <= 1)
    #expect(sandbox.origin.requests.allSatisfy { $0.value(of: "X-Evil") == nil })
  }

  @Test func `a request without a URL is an error`() async throws {
    let sandbox = try FaceSandbox()
    var request = sandbox.request()
    request.url = nil
    #expect(await text(sandbox.cache, request) == "\(URLError.badURL.rawValue)")
  }
}
