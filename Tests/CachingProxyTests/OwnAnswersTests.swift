import CacheFormat
import HTTPSemantics
import Testing

@testable import CachingProxy

struct OwnAnswersTests {
  private func text(_ answer: ProxyAnswer) -> String {
    if case .bytes(let bytes) = answer.body { String(decoding: bytes, as: UTF8.self) } else { "" }
  }

  private let withText = [
    OwnAnswers.refusal(RequestRefusal(431, "the head is too large")), OwnAnswers.loop(),
    OwnAnswers.headTooLarge(), OwnAnswers.noTrace(), OwnAnswers.noChange(), OwnAnswers.page(nil),
  ]

  @Test func `no answer of the proxy itself is stored, or taken for another type`() {
    for answer in withText + [OwnAnswers.page(ProxyPage(contentType: "text/html", body: [1]))] {
      let fields = answer.head.fields
      #expect(fields.first(named: "Cache-Control")?.text == "no-store")
      #expect(fields.first(named: "X-Content-Type-Options")?.text == "nosniff")
      #expect(fields.all(named: "Content-Type").count == 1)
      #expect(answer.source == .proxy && answer.cacheStatus != nil)
    }
  }

  @Test func `an error begins with its status, and its length is that of its text`() {
    for answer in withText {
      #expect(text(answer).hasPrefix("\(answer.head.status): "), "\(text(answer))")
      #expect(text(answer).hasSuffix("\n"))
      #expect(answer.representationLength == UInt64(text(answer).utf8.count))
    }
  }

  @Test func `a connection ends behind a request whose end is not known`() {
    #expect(withText.map(\.closesConnection) == [true, false, false, false, true, false])
  }

  @Test func `a 405 names the methods that are allowed`() {
    for answer in [OwnAnswers.noTrace(), OwnAnswers.noChange()] {
      #expect(answer.head.status == 405 && answer.head.fields.contains("Allow"))
    }
    let options = OwnAnswers.capabilities()
    #expect(options.head.status == 200 && text(options).isEmpty)
    #expect(options.head.fields.first(named: "Allow")?.text.contains("TRACE") == false)
  }

  @Test func `a page keeps its own fields`() {
    let page = ProxyPage(
      status: 409, contentType: "text/css", fields: [HTTPField("X", "y")], body: [1, 2])
    let answer = OwnAnswers.page(page)
    #expect(answer.head.status == 409 && answer.head.fields.first(named: "X")?.text == "y")
    #expect(answer.representationLength == 2)
  }
}
