import Testing

@testable import OfflineCacheKit

@Suite struct RedirectedRequestTests {
  private func next(
    _ location: String?, status: Int = 302, from text: String = "https://h/a",
    method: String = "GET",
    allowsInsecure: Bool = false
  ) throws -> URLRequest? {
    let url = try #require(URL(string: text))
    var request = URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad, timeoutInterval: 7)
    request.httpMethod = method
    request.setValue("secret", forHTTPHeaderField: "Authorization")
    request.setValue("text/html", forHTTPHeaderField: "Accept")
    request.setValue("1", forHTTPHeaderField: "X-Api-Key")
    let fields = location.map { ["Location": $0] } ?? [:]
    let response = try #require(
      HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
    return try request.redirected(
      by: response, AskedRequest(request, mode: .never), allowsInsecure: allowsInsecure)
  }

  @Test(arguments: [("/b", "https://h/b"), ("b?c", "https://h/b?c"), ("//h:443/", "https://h/")])
  func `a redirect within the origin keeps all fields`(location: String, url: String) throws {
    let request = try #require(try next(location))
    #expect(request.url?.absoluteString == url)
    #expect(request.value(forHTTPHeaderField: "Authorization") == "secret")
    #expect(request.value(forHTTPHeaderField: "X-Api-Key") == "1")
    #expect(request.cachePolicy == .returnCacheDataElseLoad)
    #expect(request.timeoutInterval == 7)
  }

  @Test func `a Location that is not UTF-8 keeps its bytes in a response`() throws {
    let url = try #require(URL(string: "https://h/a"))
    let request = URLRequest(url: url)
    let location = HTTPField(name: "Location", value: Array("/caf".utf8) + [0xE9])
    let head = HTTPResponseHead(status: 302, fields: [location])
    let response = try #require(OfflineURLResponse.plain(head, url: url))
    let next = try request.redirected(
      by: response, AskedRequest(request, mode: .never), allowsInsecure: false)
    #expect(next?.url?.absoluteString == "https://h/caf%E9")
  }

  @Test(arguments: ["https://other/", "https://h:8443/", "//other/"])
  func `a redirect to another origin loses what may be a credential`(location: String) throws {
    let request = try #require(try next(location))
    #expect(request.value(forHTTPHeaderField: "Authorization") == nil)
    #expect(request.value(forHTTPHeaderField: "X-Api-Key") == nil)
    #expect(request.value(forHTTPHeaderField: "Accept") == "text/html")
  }

  @Test func `a redirect to http is an error unless it is allowed`() throws {
    let error = #expect(throws: TransportError.self) { try next("http://h/b") }
    #expect(error?.code == .insecureRedirect)
    #expect(try next("http://h/b", allowsInsecure: true)?.url?.absoluteString == "http://h/b")
  }

  @Test func `other responses are no redirect`() throws {
    #expect(try next("/b", status: 200) == nil)
    #expect(try next("/b", status: 304) == nil)
    #expect(try next(nil) == nil)
    #expect(try next("file:///etc/passwd") == nil)
    #expect(try next("/b", status: 303, method: "HEAD")?.httpMethod == "HEAD")
  }
}
