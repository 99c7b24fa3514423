import HTTPSemantics
import Testing

@testable import CurlTransport

struct HeadParserTests {
  /// Feeds lines, each with its line end, and returns what each led to.
  private func events(_ lines: [String], follows: Bool = true) -> [HeadParser.Event] {
    var parser = HeadParser(followsRedirects: follows)
    return lines.map { parser.consume(Array(($0 + "\r\n").utf8)) }
  }

  @Test("a head is complete with its empty line, and not before")
  func wholeHead() {
    let head = HTTPResponseHead(status: 200, fields: [HTTPField("A", "b")])
    #expect(
      events(["HTTP/1.1 200 OK", "A: b", ""]) == [.none, .none, .head(head, version: "1.1")])
  }

  @Test(
    "a status line may lack its reason, as that of HTTP/2 does",
    arguments: [("HTTP/2 204 ", "2"), ("HTTP/2 204", "2"), ("HTTP/1.0 204 No Content", "1.0")])
  func statusLines(line: String, version: String) {
    #expect(events([line, ""]).last == .head(HTTPResponseHead(status: 204), version: version))
  }

  @Test(
    "a bad status line is a violation",
    arguments: ["HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 099", "HTTP/ x"])
  func badStatusLines(line: String) {
    #expect(events([line]) == [.violation("a bad status line")])
  }

  @Test("of interim answers, redirects and the answer only the last counts")
  func severalHeads() {
    let lines = [
      "HTTP/1.1 103 Hints", "L: 1", "", "HTTP/1.1 301 Moved", "Location: /x", "", "T: trailer", "",
      "HTTP/1.1 200 OK", "A: b", "",
    ]
    let events = events(lines)
    #expect(events[5] == .redirect)
    #expect(
      events.last
        == .head(HTTPResponseHead(status: 200, fields: [HTTPField("A", "b")]), version: "1.1"))
    #expect(events.filter { $0 != .none }.count == 2)
  }

  @Test("a redirect that is not followed is the answer")
  func returnedRedirect() {
    let head = HTTPResponseHead(status: 301, fields: [HTTPField("Location", "/x")])
    let events = events(["HTTP/1.1 301 Moved", "Location: /x", ""], follows: false)
    #expect(events.last == .head(head, version: "1.1"))
  }

  @Test("what follows the head is a trailer, whatever it looks like")
  func trailers() {
    var parser = HeadParser(followsRedirects: true)
    for line in ["HTTP/1.1 200 OK", "", "T: 1", "HTTP/1.1 500 No", "Content-Length: 9", ""] {
      _ = parser.consume(Array((line + "\r\n").utf8))
    }
    #expect(parser.trailers == [HTTPField("T", "1"), HTTPField("Content-Length", "9")])
  }

  @Test("white space is taken off and folded lines are joined")
  func oddLines() {
    let lines = [
      "HTTP/1.1 200 OK", "A :\t b \t", " c", "\td ", ": x", "no colon", " lost", "E:", "",
    ]
    let head = HTTPResponseHead(
      status: 200, fields: [HTTPField("A", "b c d"), HTTPField("E", "")])
    #expect(events(lines).last == .head(head, version: "1.1"))
  }

  @Test(
    "one length may be stated twice, but not two lengths",
    arguments: [
      (["Content-Length: 5", "content-length: 5"], true), (["Content-Length: 5, 5"], true),
      (["Content-Length: 5", "Content-Length: 6"], false), (["Content-Length: 5,6"], false),
    ])
  func lengths(lines: [String], isFine: Bool) {
    let last = events(["HTTP/1.1 200 OK"] + lines + [""]).last
    #expect((last == .violation("two different lengths")) == !isFine)
  }

  @Test("the limits on bytes and lines hold to the one")
  func limits() {
    let lines = Array(repeating: "A: b", count: HeadParser.maximumLines)
    #expect(events(["HTTP/1.1 200 OK"] + lines).last == HeadParser.Event.none)
    let violation = events(["HTTP/1.1 200 OK"] + lines + ["no colon"]).last
    let text = "more than 262144 bytes or 2000 lines of fields"
    #expect(violation == .violation(text))
    let long = "A: " + String(repeating: "b", count: HeadParser.maximumHeadBytes - 3)
    #expect(events(["HTTP/1.1 200 OK", long]).last == HeadParser.Event.none)
    #expect(events(["HTTP/1.1 200 OK", long + "b"]).last == .violation(text))
  }
}
