import Foundation
import Testing
import TransportTesting

@testable import URLSessionHTTP

@Suite struct SessionRequestTests {
  private func make(
    _ fields: HTTPFields, _ body: RequestBody? = nil, method: String = "GET",
    url: String = "http://h:81/a?b"
  ) throws -> URLRequest {
    let request = HTTPRequest(
      method: HTTPMethod(rawValue: method), url: try NormalizedURL(url), fields: fields)
    return try SessionRequest.make(request, body, NetworkSetup(userAgent: "me"))
  }

  private func fault(
    _ fields: HTTPFields, _ body: RequestBody? = nil, method: String = "GET",
    url: String = "http://h/"
  ) -> String? {
    do { _ = try make(fields, body, method: method, url: url) } catch {
      return (error as? TransportError).map { "\($0.code.rawValue): \($0.detail)" }
    }
    return nil
  }

  @Test func `fields that a cache would not know are set`() throws {
    let fields = try make([]).allHTTPHeaderFields ?? [:]
    #expect(fields == ["Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "me"])
    let own = try make([HTTPField("accept", "a"), HTTPField("user-agent", "u")])
    #expect(own.value(forHTTPHeaderField: "Accept") == "a")
    #expect(own.value(forHTTPHeaderField: "User-Agent") == "u")
  }

  @Test(arguments: [
    ("gzip, deflate", "gzip, deflate"), ("zstd", "identity"),
    ("br;q=0.5, zstd, GZIP", "br;q=0.5, GZIP"),
    ("", "identity"), ("*", "identity"), ("identity;q=0.1", "identity;q=0.1"),
  ])
  func `only codings are asked for that URLSession decodes`(asked: String, sent: String) throws {
    let request = try make([HTTPField("Accept-Encoding", asked)])
    #expect(request.value(forHTTPHeaderField: "Accept-Encoding") == sent)
  }

  @Test func `a part is asked for without a coding`() throws {
    let request = try make([HTTPField("Accept-Encoding", "gzip"), HTTPField("Range", "bytes=1-")])
    #expect(request.value(forHTTPHeaderField: "Accept-Encoding") == "identity")
    #expect(request.value(forHTTPHeaderField: "Range") == "bytes=1-")
  }

  @Test(arguments: ["NTLM abc=", "Negotiate abc=", "negotiate"])
  func `what logs a connection in is refused`(value: String) {
    #expect(
      fault([HTTPField("Authorization", value)])
        == "invalidRequest: its Authorization logs a connection in, which URLSession would use again"
    )
  }

  @Test func `fields of one name are joined, cookies by a semicolon`() throws {
    let request = try make([
      HTTPField("X", "1"), HTTPField("Cookie", "a=b"), HTTPField("x", "2"),
      HTTPField("cookie", "c=d"),
    ])
    #expect(request.value(forHTTPHeaderField: "X") == "1, 2")
    #expect(request.value(forHTTPHeaderField: "Cookie") == "a=b; c=d")
  }

  @Test func `framing is left to URLSession, and Host if it is that of the URL`() throws {
    let request = try make([
      HTTPField("Content-Length", "5"), HTTPField("Transfer-Encoding", "chunked"),
      HTTPField("Expect", "100-continue"), HTTPField("Host", "h:81"),
    ])
    for name in ["Content-Length", "Transfer-Encoding", "Expect", "Host"] {
      #expect(request.value(forHTTPHeaderField: name) == nil)
    }
    for host in ["other", "h"] {
      let other = try make([HTTPField("Host", host)])
      #expect(other.value(forHTTPHeaderField: "Host") == host)
    }
    let sized = try make([], .stream(length: 7, ScriptedSource.of([])), method: "PUT")
    #expect(sized.value(forHTTPHeaderField: "Content-Length") == "7")
    #expect(sized.value(forHTTPHeaderField: "Content-Type") == "application/octet-stream")
  }

  @Test func `what cannot be sent is refused with the reason`() {
    #expect(fault([], .bytes([1])) == "invalidRequest: URLSession sends no body with GET")
    #expect(fault([], .bytes([])) == nil)
    #expect(
      fault([HTTPField(name: "X", value: [0xE4])]) == "invalidRequest: the field X is not UTF-8")
    #expect(fault([], method: "CONNECT") == "invalidRequest: CONNECT asks for a tunnel")
    #expect(fault([HTTPField("X", "a\r\nb")])?.hasPrefix("invalidRequest") == true)
  }

  @Test(arguments: [
    "http://h/a%20b?c=%2F&d", "http://[::1]:8080/", "http://xn--bcher-kva.example/%C3%BC",
    "https://h/?q=a+b&r=%22%7C",
  ])
  func `Foundation gets the URL as it is`(url: String) throws {
    #expect(try make([], url: url).url?.absoluteString == url)
  }
}
