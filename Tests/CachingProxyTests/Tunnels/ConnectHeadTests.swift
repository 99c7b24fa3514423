import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

struct ConnectHeadTests {
  private func head(_ target: String, _ lines: String = "Host: a.test") -> Result<
    ConnectHead, RequestRefusal
  > {
    read("CONNECT \(target) HTTP/1.1\r\n\(lines)\r\n\r\n")
  }

  private func read(_ text: String) -> Result<ConnectHead, RequestRefusal> {
    do throws(RequestRefusal) {
      return .success(try ConnectHead(Array(text.utf8)))
    } catch { return .failure(error) }
  }

  private func status(_ result: Result<ConnectHead, RequestRefusal>) -> Int? {
    if case .failure(let refusal) = result { refusal.status } else { nil }
  }

  @Test func `the head ends with its empty line, wherever the search begins`() {
    let head = Array("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    #expect(ConnectHead.length(in: head + Array("more\r\n\r\n".utf8)) == head.count)
    for count in head.indices { #expect(ConnectHead.length(in: Array(head[..<count])) == nil) }
    // The bytes that were searched before may have the beginning of the end.
    for seen in head.indices { #expect(ConnectHead.length(in: head, after: seen) == head.count) }
    for text in ["", "\r\n", "\n\n\n\n", "\r\r\n\n", "a\n\r\n"] {
      #expect(ConnectHead.length(in: Array(text.utf8)) == nil, "\(text.debugDescription)")
    }
    #expect(ConnectHead.length(in: Array("\r\n\r\n".utf8)) == 4)
  }

  @Test(arguments: [
    ("a.test:443", "a.test", 443), ("A.Test:1", "a.test", 1),
    ("127.0.0.1:65535", "127.0.0.1", 65_535),
    ("[::1]:443", "[::1]", 443), ("[2001:DB8::1]:8443", "[2001:db8::1]", 8_443),
    ("a.test:00443", "a.test", 443),
  ])
  func `host and port are read`(target: String, host: String, port: Int) throws {
    let found = try head(target).get()
    #expect(found.host == host && Int(found.port) == port)
    #expect(found.authority == "\(host):\(port)")
    #expect(found.fields.map(\.description) == ["Host: a.test"])
  }

  @Test(arguments: [
    "", "a.test", "a.test:", ":443", "a.test:0", "a.test:65536", "a.test:+443", "a.test:-1",
    "a.test:443/", "a.test: 443", "a.test:44a", "u@a.test:443", "http://a.test:443", "[::1]",
    "[::1", "[]:443", "[::1]443", "a.test:443:443", "a%2Etest:443", "/", "*", "a.test:000443",
  ])
  func `what is no host and port is refused`(target: String) {
    #expect(status(head(target)) == 400)
  }

  @Test(arguments: [
    "CONNECT a:1 HTTP/1.1\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\n\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "CONNECT  a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    "CONNECT a:1  HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1 \r\nHost: a\r\n\r\n",
    "CONNECT a:1 HTTP/1.2\r\nHost: a\r\n\r\n", "CONNECT a:1 http/1.1\r\nHost: a\r\n\r\n",
    "CONNECT a:1\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\n: a\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\rb\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nHost: a\r\nX: \u{1}\r\n\r\n", "\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n",
  ])
  func `a head that another server could read in another way is refused`(text: String) {
    #expect(status(read(text)) == 400)
  }

  @Test func `the white space before a value is no part of it`() throws {
    let found = try head("a:1", "Host: a\r\nX:\t y").get()
    #expect(found.fields.first(named: "X")?.text == "y")
    #expect(status(read("CONNECT a:1 HTTP/1.0\r\nHost: a\r\n\r\n")) == nil)
  }

  @Test(arguments: [UInt64(1), 2])
  func `a byte that is changed makes no other tunnel unnoticed`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let bytes = Array("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nX: y\r\n\r\n".utf8)
    for _ in 0..<3_000 {
      var changed = bytes
      let place = random.below(bytes.count - 4)
      changed[place] = UInt8(random.below(256))
      guard let found = try? ConnectHead(changed) else { continue }
      #expect(found.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && found.port > 0)
      #expect(found.fields.allSatisfy(\.isValid) && found.fields.count == 2)
      let isTarget = (8..<18).contains(place)
      #expect(isTarget || found.authority == "a.test:443")
    }
  }
}
