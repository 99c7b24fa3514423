import HTTPSemantics
import Testing

@testable import CachingProxy

/// Returns the lines of an answer as text, with a `|` for each NUL.
private func lines(
  _ fields: HTTPFields, cacheStatus: CacheStatus? = nil, closes: Bool = false
) -> String {
  let answer = ProxyAnswer(
    head: HTTPResponseHead(status: 200, fields: fields), body: .bytes([]), source: .proxy,
    cacheStatus: cacheStatus)
  let bytes = AnswerLines.lines(of: answer, via: "1.1 test", closes: closes) {
    HTTPDate(seconds: 784_111_777)
  }
  return String(decoding: bytes.map { $0 == 0 ? UInt8(ascii: "|") : $0 }, as: UTF8.self)
}

@Suite("The lines of an answer") struct AnswerLinesTests {
  @Test func `have the fields in their order, then those of this hop`() {
    #expect(
      lines(
        [HTTPField("B", "1"), HTTPField("Date", "x"), HTTPField("A", "2"), HTTPField("B", "3")],
        cacheStatus: CacheStatus(cacheName: "Test", isHit: true), closes: true)
        == "Connection|close|B|1|Date|x|A|2|B|3|Via|1.1 test|Cache-Status|Test; hit|")
  }

  @Test func `have a date where the origin sent none`() {
    #expect(lines([]) == "Date|Sun, 06 Nov 1994 08:49:37 GMT|Via|1.1 test|")
  }

  @Test func `keep those of servers before this one`() {
    #expect(
      lines(
        [HTTPField("Date", "x"), HTTPField("Via", "1.0 a"), HTTPField("Cache-Status", "A; hit")],
        cacheStatus: CacheStatus(cacheName: "B", isHit: true))
        == "Date|x|Via|1.0 a|Cache-Status|A; hit|Via|1.1 test|Cache-Status|B; hit|")
  }

  @Test func `leave out what ends at this hop, and what the library writes`() {
    let fields: HTTPFields = [
      HTTPField("Connection", "close, X-Hop"), HTTPField("X-Hop", "1"),
      HTTPField("Keep-Alive", "1"),
      HTTPField("Transfer-Encoding", "chunked"), HTTPField("content-length", "1"),
      HTTPField("Upgrade", "h2c"), HTTPField("Trailer", "X"), HTTPField("TE", "trailers"),
      HTTPField("Proxy-Connection", "close"), HTTPField("Date", "x"), HTTPField("Date", "y"),
    ]
    #expect(lines(fields) == "Date|x|Via|1.1 test|")
  }

  @Test func `leave out what would break them, and keep bytes that are no text`() {
    let fields: HTTPFields = [
      HTTPField("Date", "x"), HTTPField("A", "1\r\nB: 2"), HTTPField("B", "1\u{0}"),
      HTTPField("C D", "1"), HTTPField("E", ""), HTTPField(name: "F", value: [0xFF, 0x09, 0x80]),
    ]
    let answer = ProxyAnswer(
      head: HTTPResponseHead(status: 200, fields: fields), body: .bytes([]), source: .proxy,
      cacheStatus: nil)
    let bytes = AnswerLines.lines(of: answer, via: "v", closes: false) { HTTPDate(seconds: 0) }
    let expected: [UInt8] =
      Array("Date".utf8) + [0] + Array("x".utf8) + [0] + Array("E".utf8) + [0, 0x20, 0]
      + Array("F".utf8) + [0, 0xFF, 0x09, 0x80, 0] + Array("Via".utf8) + [0] + Array("v".utf8) + [0]
    #expect(bytes == expected)
  }
}
