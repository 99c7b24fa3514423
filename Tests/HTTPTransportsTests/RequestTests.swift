import Testing
import TransportTesting

@testable import CurlHTTP

struct RequestTests {
  private static let bare = TransportOptions(
    connectTimeout: .seconds(30), idleTimeout: .seconds(30), addsDefaultFields: false)

  private func post(_ method: String) -> HTTPMethod { HTTPMethod(rawValue: method) }

  /// Sends one request and returns every byte that the server got before it answered.
  private func wire(
    _ method: String, _ target: String = "/", _ fields: HTTPFields = [], body: RequestBody? = nil,
    options: TransportOptions = bare
  ) async throws -> String {
    let origin = try LoopbackOrigin { request, connection in
      if let length = request.value(of: "Content-Length").flatMap({ Int($0) }), length > 0 {
        connection.answer(request.head + connection.read(length))
      } else if request.value(of: "Transfer-Encoding") != nil {
        connection.answer(request.head + connection.read(through: "0\r\n\r\n"))
      } else {
        connection.answer(request.head)
      }
    }
    let response = try await makeTransport().send(
      HTTPRequest(method: post(method), url: origin.address(target), fields: fields), body: body,
      options: options
    ) { _ in }
    let bytes = try await response.body.readAll()
    let text = String(bytes.map { Character(Unicode.Scalar($0)) })
    return text.replacing("127.0.0.1:\(origin.port)", with: "HOST")
  }

  @Test("without default fields the request's own go out, byte for byte and in their order")
  func ownFields() async throws {
    let fields: HTTPFields = [
      HTTPField("X-Empty", ""), HTTPField("x-a", "1"), HTTPField("Accept-Encoding", "br"),
      HTTPField("X-A", "2"), HTTPField(name: "X-Bytes", value: [0xE4, 0xFF, 0x09, 0x21]),
      HTTPField("Cookie", "a=b"), HTTPField("cookie", "c=d"), HTTPField("Range", "bytes=0-1"),
      HTTPField("Authorization", "Basic x"), HTTPField("Connection", "close"),
      HTTPField("TE", "trailers"), HTTPField("X-Semi;", ""), HTTPField("Referer", "r"),
      HTTPField("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"), HTTPField("X-Blank", " \t"),
    ].filter(\.isValid).reduce(into: HTTPFields()) { $0.append($1) }
    let lines = [
      "GET /a%20b?c=%2F&d|[] HTTP/1.1", "Host: HOST", "X-Empty:", "x-a: 1", "Accept-Encoding: br",
      "X-A: 2", "X-Bytes: \u{E4}\u{FF}\t!", "Cookie: a=b", "cookie: c=d", "Range: bytes=0-1",
      "Authorization: Basic x", "Connection: close", "TE: trailers", "Referer: r",
      "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT", "X-Blank:", "", "",
    ]
    #expect(try await wire("GET", "/a b?c=%2f&d|[]", fields) == lines.joined(separator: "\r\n"))
  }

  @Test(
    "a request without content says so only where content is expected",
    arguments: [
      ("GET", ""), ("DELETE", ""), ("OPTIONS", ""), ("M-SEARCH", ""), ("PROPFIND", ""),
      ("TRACE", ""), ("POST", "Content-Length: 0\r\n"), ("PUT", "Content-Length: 0\r\n"),
      ("PATCH", "Content-Length: 0\r\n"),
    ])
  func noContent(method: String, framing: String) async throws {
    #expect(try await wire(method) == "\(method) / HTTP/1.1\r\nHost: HOST\r\n\(framing)\r\n")
  }

  @Test("content of known length is framed by it, whatever the caller's fields say")
  func knownLength() async throws {
    let fields: HTTPFields = [
      HTTPField("content-length", "99"), HTTPField("Transfer-Encoding", "chunked"),
      HTTPField("Content-Type", "text/plain"),
    ]
    let text = try await wire("POST", "/", fields, body: .bytes(Array("GET / HTTP/1.1".utf8)))
    #expect(
      text == "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Type: text/plain\r\n"
        + "Content-Length: 14\r\n\r\nGET / HTTP/1.1")
  }

  @Test("the caller's framing fields without a body are not sent")
  func framingWithoutBody() async throws {
    let fields: HTTPFields = [
      HTTPField("Content-Length", "5"), HTTPField("transfer-encoding", "chunked"),
    ]
    #expect(try await wire("GET", "/", fields) == "GET / HTTP/1.1\r\nHost: HOST\r\n\r\n")
  }

  @Test("content of unknown length is chunked, once")
  func unknownLength() async throws {
    let source = ScriptedSource.of([Array("abc".utf8), Array("de".utf8)])
    let text = try await wire(
      "PATCH", "/", [HTTPField("Transfer-Encoding", "chunked"), HTTPField("Content-Length", "5")],
      body: .stream(length: nil, source))
    let end = "\r\n0\r\n\r\n"
    #expect(
      text.hasPrefix("PATCH / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n"))
    #expect(text.hasSuffix(end))
    #expect(text.components(of: "Transfer-Encoding") == 2)
    #expect(text.components(of: "Content-Length") == 1)
  }

  @Test("a Host of the caller's stands in place of the URL's, and first")
  func host() async throws {
    let text = try await wire("GET", "/", [HTTPField("A", "b"), HTTPField("Host", "example.org")])
    #expect(text == "GET / HTTP/1.1\r\nHost: example.org\r\nA: b\r\n\r\n")
  }

  @Test("an expectation is passed on, and never added")
  func expectation() async throws {
    let source = ScriptedSource.of([[UInt8](repeating: 0x61, count: 2 << 20)])
    let large = try await wire("PUT", body: .stream(length: 2 << 20, source))
    #expect(large.hasPrefix("PUT / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2097152\r\n\r\naa"))
    let text = try await wire("GET", "/", [HTTPField("Expect", "x"), HTTPField("A", "b")])
    #expect(text == "GET / HTTP/1.1\r\nHost: HOST\r\nExpect: x\r\nA: b\r\n\r\n")
  }

  @Test("default fields are added where the request has none of its own")
  func defaultFields() async throws {
    #expect(
      try await wire("GET", options: patient)
        == "GET / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: OfflineCache\r\nAccept: */*\r\n\r\n")
    let fields: HTTPFields = [HTTPField("accept", "text/html"), HTTPField("user-agent", "me")]
    #expect(
      try await wire("GET", "/", fields, options: patient)
        == "GET / HTTP/1.1\r\nHost: HOST\r\naccept: text/html\r\nuser-agent: me\r\n\r\n")
  }
}

extension String {
  /// Counts the parts between the places where a text stands.
  fileprivate func components(of separator: String) -> Int {
    split(separator: separator, omittingEmptySubsequences: false).count
  }
}
