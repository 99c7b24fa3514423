import Testing

@testable import CachingProxy

@Suite struct EarlyAnswerTests {
  private let lines = Array("A\0b\0Empty\0 \0".utf8)

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `the end of the body is told by length, by chunks, or by the connection`() {
    for isHTTP11 in [true, false] {
      for length in [0, 5, UInt64(Int64.max)] {
        let early = EarlyAnswer(length: length, isHTTP11: isHTTP11, isRequestChunked: false)
        #expect(early.framing == .length(length) && early.end.isEmpty)
      }
    }
    #expect(EarlyAnswer(length: nil, isHTTP11: true, isRequestChunked: false).framing == .chunks)
    #expect(EarlyAnswer(length: 5, isHTTP11: true, isRequestChunked: true).framing == .chunks)
    #expect(
      EarlyAnswer(length: nil, isHTTP11: false, isRequestChunked: false).framing == .connection)
    #expect(EarlyAnswer(told: 5).framing == .none(told: 5))
  }

  @Test func `the head has the lines, and one field about the end`() {
    let fields = "A: b\r\nEmpty:  \r\n"
    let length = EarlyAnswer(length: 5, isHTTP11: true, isRequestChunked: false)
    #expect(
      text(length.head(status: 200, lines: lines))
        == "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 5\r\n\r\n")
    let chunks = EarlyAnswer(length: nil, isHTTP11: true, isRequestChunked: true)
    #expect(
      text(chunks.head(status: 404, lines: []))
        == "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n")
    let none = EarlyAnswer(told: nil)
    #expect(
      text(none.head(status: 204, lines: lines)) == "HTTP/1.1 204 No Content\r\n\(fields)\r\n")
    // A status without a name.
    #expect(text(EarlyAnswer.plainHead(status: 599, lines: [])).hasPrefix("HTTP/1.1 599 "))
  }

  @Test func `no piece looks like the end, not even one without bytes`() {
    let chunks = EarlyAnswer(length: nil, isHTTP11: true, isRequestChunked: false)
    #expect(chunks.framed([]).isEmpty)
    #expect(
      text(chunks.framed([UInt8](repeating: 65, count: 16)))
        == "10\r\n\(String(repeating: "A", count: 16))\r\n")
    #expect(text(chunks.end) == "0\r\n\r\n")
    let plain = EarlyAnswer(length: 3, isHTTP11: true, isRequestChunked: false)
    #expect(plain.framed([1, 2]) == [1, 2] && plain.framed([]).isEmpty)
  }
}
