import HTTPSemantics
import TestSupport
import Testing

@testable import CurlHTTP

struct HeadParserTests {
  /// Feeds lines, each with its line end, and returns what each led to.
  private func events(_ lines: [String], end: String = "\r\n") -> [HeadParser.Event] {
    var parser = HeadParser()
    return lines.map { parser.consume(Array(($0 + end).utf8)) }
  }

  @Test("a head is complete with its empty line, and not before", arguments: ["\r\n", "\n"])
  func wholeHead(end: String) {
    let head = HTTPResponseHead(status: 200, fields: [HTTPField("A", "b")])
    #expect(
      events(["HTTP/1.1 200 OK", "A: b", ""], end: end)
        == [.none, .none, .head(head, version: "1.1")])
  }

  @Test(
    "a status line may lack its reason, as that of HTTP/2 does",
    arguments: [
      ("HTTP/2 204 ", "2"), ("HTTP/2 204", "2"), ("HTTP/1.0 204 No Content", "1.0"),
      ("HTTP/1.1  204 \u{FC}", "1.1"),
    ])
  func statusLines(line: String, version: String) {
    #expect(events([line, ""]).last == .head(HTTPResponseHead(status: 204), version: version))
  }

  @Test(
    "a bad status line is a violation",
    arguments: [
      "", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 099", "HTTP/ x",
      "HTTP/1.1 +20", "HTTP/1.1 200OK", "HTTP/1.x 200", "http/1.1 200", " HTTP/1.1 200", "A: b",
    ])
  func badStatusLines(line: String) {
    #expect(events([line]) == [.violation("a bad status line")])
  }

  @Test("an interim head is handed over, and the next one starts anew")
  func interim() {
    let lines = [
      "HTTP/1.1 103 Hints", "L: 1", "", "HTTP/1.1 100", "", "HTTP/1.1 200 OK", "A: b", "",
    ]
    #expect(
      events(lines).filter { $0 != .none } == [
        .interim(HTTPResponseHead(status: 103, fields: [HTTPField("L", "1")])),
        .interim(HTTPResponseHead(status: 100)),
        .head(HTTPResponseHead(status: 200, fields: [HTTPField("A", "b")]), version: "1.1"),
      ])
    #expect(events(["HTTP/1.1 100", "", "A: b"]).last == .violation("a bad status line"))
  }

  @Test("what follows the head is a trailer, whatever it looks like")
  func trailers() {
    var parser = HeadParser()
    for line in ["HTTP/1.1 200 OK", "", "T: 1", "HTTP/1.1 500: No", "Content-Length: 9", "U:", ""] {
      _ = parser.consume(Array((line + "\r\n").utf8))
    }
    #expect(parser.trailers == [HTTPField("T", "1"), HTTPField("U", "")])
  }

  @Test("white space is taken off and folded lines are joined")
  func oddLines() {
    let lines = [
      "HTTP/1.1 200 OK", " lost", "A :\t b \t", " c", "\td ", ": x", "no colon", " lost", "E:", "",
    ]
    let head = HTTPResponseHead(
      status: 200, fields: [HTTPField("A", "b c d"), HTTPField("E", "")])
    #expect(events(lines).last == .head(head, version: "1.1"))
  }

  @Test("a CR or NUL in any line is a violation", arguments: ["\r", "\0"])
  func forbiddenBytes(byte: String) {
    let violation = HeadParser.Event.violation("a CR or NUL within a line")
    #expect(events(["HTTP/1.1 200 O\(byte)K"]) == [violation])
    #expect(events(["HTTP/1.1 200 OK", "A: b\(byte)c"]).last == violation)
    #expect(events(["HTTP/1.1 200 OK", "A: b\(byte)"]).last == violation)
    #expect(events(["HTTP/1.1 200 OK", "", "A: b\(byte)c"]).last == violation)
  }

  @Test("values that are no UTF-8, and control characters that do no harm, survive")
  func bytes() {
    var parser = HeadParser()
    _ = parser.consume(Array("HTTP/1.1 200 OK\r\n".utf8))
    _ = parser.consume(Array("A: ".utf8) + [0xFF, 0x01, 0x7F, 0x0D, 0x0A])
    let head = HTTPResponseHead(
      status: 200, fields: [HTTPField(name: "A", value: [0xFF, 0x01, 0x7F])])
    #expect(parser.consume(Array("\r\n".utf8)) == .head(head, version: "1.1"))
  }

  @Test("the limits on bytes and fields hold to the one")
  func limits() {
    let lines = Array(repeating: "A: b", count: HeadParser.maximumFields)
    #expect(events(["HTTP/1.1 200 OK"] + lines).last == HeadParser.Event.none)
    #expect(
      events(["HTTP/1.1 200 OK"] + lines + ["no colon"]).last == .tooLarge("more than 1000 fields"))
    let start = "HTTP/1.1 200 OK"
    let long = "A: " + String(repeating: "b", count: HeadParser.maximumBytes - 3 - 4 - 15)
    #expect(events([start, long]).last == HeadParser.Event.none)
    #expect(events([start, long + "b"]).last == .tooLarge("more than 262144 bytes"))
  }

  @Test("interim heads and trailers count with the head against the limits")
  func limitsTogether() {
    let interim = ["HTTP/1.1 103", "A: b", ""]
    let half = Array(repeating: interim, count: HeadParser.maximumFields / 2).flatMap { $0 }
    #expect(
      events(half + ["HTTP/1.1 200", ""]).last
        == .head(HTTPResponseHead(status: 200), version: "1.1"))
    let tooLarge = HeadParser.Event.tooLarge("more than 1000 fields")
    #expect(events(half + ["HTTP/1.1 200", "A: b"]).last == tooLarge)
    #expect(events(half + ["HTTP/1.1 200", "", "A: b"]).last == tooLarge)
  }

  @Test("random lines are taken or refused, never a crash", arguments: 0..<4)
  func randomLines(run: Int) {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed of randomLines \(run): \(seed)")
    var random = SplitMix64(seed: seed)
    let words = [
      "HTTP/1.1 200 OK", "HTTP/1.1 103", "HTTP/", "Content-Length", ":", " ", "\t", ",", "5",
      "chunked",
      "Transfer-Encoding", "-1", "99999999999999999999", "\r", "\0", "X", "\r\n", "\n", "\u{FF}",
    ]
    var heads = 0
    for _ in 0..<3_000 {
      var parser = HeadParser()
      var events = [parser.consume(Array("HTTP/1.1 200 OK\r\n".utf8))]
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        let line = (0..<Int.random(in: 0...6, using: &random)).map { _ in
          words.randomElement(using: &random)!
        }
        events.append(parser.consume(Array((line.joined() + "\r\n").utf8)))
      }
      events.append(parser.consume(Array("\r\n".utf8)))
      for case .head(let head, _) in events {
        heads += 1
        #expect(head.fields.all(named: "Content-Length").count <= 1)
        #expect(head.fields.filter { !HTTPField.isToken($0.name) }.isEmpty)
      }
    }
    #expect(heads > 100)
  }
}
