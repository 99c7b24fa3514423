import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite("An interim answer") struct InterimAnswerTests {
  @Test func `is written as a head of its own`() {
    let head = HTTPResponseHead(
      status: 103,
      fields: [
        HTTPField("Link", "</a>; rel=preload"), HTTPField("Link", "</b>"),
        HTTPField("Connection", "x"), HTTPField("Content-Length", "5"), HTTPField("X", "a\r\nb: c"),
      ])
    let bytes = InterimAnswer.bytes(of: head, via: "1.1 me")
    #expect(
      String(decoding: bytes ?? [], as: UTF8.self)
        == "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>\r\nVia: 1.1 me\r\n\r\n"
    )
  }

  @Test func `that is too long is left out`() {
    let long = HTTPField("A", String(repeating: "x", count: InterimAnswer.maximumLength))
    #expect(InterimAnswer.bytes(of: HTTPResponseHead(status: 103, fields: [long]), via: "") == nil)
  }
}
