import Synchronization
import Testing
import TransportTesting

@testable import CurlHTTP

struct AnswerTests {
  @Test("head and body come as the server sent them, odd fields included")
  func wholeAnswer() async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 Fine Indeed\r\nX-A: 1\r\nx-a:2\r\nSet-Cookie: a\r\n")
      connection.send(Array("X-Bytes: ".utf8) + [0xE4, 0xFF] + Array("\r\n".utf8))
      connection.send("X-Empty:\r\nX-Space : \t v \t\r\nX-Folded: a\r\n  b\r\n")
      connection.send(": no name\r\nSet-Cookie: b\r\nContent-Length: 5\r\n\r\nhello")
    }
    let transport = try makeTransport()
    let url = try origin.address("/a%2fb?c")
    let (response, body) = try await transport.fetch(url)
    #expect(body == "hello")
    #expect(response.head.status == 200)
    #expect(response.url == url)
    #expect(response.version == "1.1")
    #expect(response.body.trailers.isEmpty)
    let fields: HTTPFields = [
      HTTPField("X-A", "1"), HTTPField("x-a", "2"), HTTPField("Set-Cookie", "a"),
      HTTPField(name: "X-Bytes", value: [0xE4, 0xFF]), HTTPField("X-Empty", ""),
      HTTPField("X-Space", "v"), HTTPField("X-Folded", "a b"), HTTPField("Set-Cookie", "b"),
      HTTPField("Content-Length", "5"),
    ]
    #expect(response.head.fields == fields)
    #expect(origin.requests.map(\.target) == ["/a%2Fb?c"])
  }

  @Test("interim answers are handed over in order, with all their fields, apart from the head")
  func interim() async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n")
      connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLocation: /x\r\n\r\n")
      connection.send("HTTP/1.1 103\r\nLink: </b>\r\nlink: </c>\r\n\r\nHTTP/1.1 199 X\r\n\r\n")
      connection.answer("final")
    }
    let seen = Mutex<[HTTPResponseHead]>([])
    let response = try await makeTransport().send(
      HTTPRequest(url: origin.address()), body: nil, options: patient
    ) { head in seen.withLock { $0.append(head) } }
    let heads = [
      HTTPResponseHead(status: 100, fields: [HTTPField("X-Interim", "1")]),
      HTTPResponseHead(
        status: 103, fields: [HTTPField("Link", "</a>"), HTTPField("Location", "/x")]),
      HTTPResponseHead(
        status: 103, fields: [HTTPField("Link", "</b>"), HTTPField("link", "</c>")]),
      HTTPResponseHead(status: 199),
    ]
    #expect(seen.withLock { $0 } == heads)
    #expect(
      response.head == HTTPResponseHead(status: 200, fields: [HTTPField("Content-Length", "5")]))
    #expect(try await response.body.readAll() == Array("final".utf8))
  }

  @Test("a chunked body comes whole, and the trailers after its end")
  func chunkedWithTrailers() async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")
      connection.send("5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 42\r\nX-Two: a\r\n\r\n")
    }
    let response = try await makeTransport().send(
      HTTPRequest(url: origin.address()), options: patient)
    #expect(response.body.trailers.isEmpty)
    #expect(try await response.body.readAll() == Array("hello world".utf8))
    #expect(response.body.trailers == [HTTPField("X-Sum", "42"), HTTPField("X-Two", "a")])
    #expect(!response.head.fields.contains("X-Sum"))
    #expect(try await response.body.next() == nil, "the end stays the end")
  }

  @Test("trailers that would frame or control the answer are left out")
  func forbiddenTrailers() async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")
      connection.send("Content-Length: 9\r\nX-Sum: 1\r\nset-cookie: a\r\nCache-Control: x\r\n\r\n")
    }
    let (response, body) = try await makeTransport().fetch(origin.address())
    #expect(body == "x")
    #expect(response.head.fields == [HTTPField("Transfer-Encoding", "chunked")])
    #expect(response.body.trailers == [HTTPField("X-Sum", "1")])
  }

  @Test("a coded body comes as it is on the wire, and no coding is offered")
  func rawBody() async throws {
    let coded: [UInt8] = [0x1F, 0x8B, 8, 0, 1, 2]
    let origin = try LoopbackOrigin { _, connection in
      connection.answer(coded, fields: ["Content-Encoding: gzip"])
    }
    let response = try await makeTransport().send(
      HTTPRequest(url: origin.address()), options: patient)
    #expect(response.head.fields.first(named: "content-encoding")?.text == "gzip")
    #expect(try await response.body.readAll() == coded)
    #expect(origin.requests.first?.value(of: "Accept-Encoding") == nil)
  }

  @Test(
    "a redirect is an answer like any other", arguments: TransportKind.allCases, ["GET", "POST"])
  func redirect(kind: TransportKind, method: String) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.answer("moved", status: "302 Found", fields: ["Location: file:///etc/passwd"])
    }
    let url = try origin.address("/3")
    let response = try await kind.make().send(
      HTTPRequest(method: HTTPMethod(rawValue: method), url: url), options: patient)
    #expect(response.head.status == 302)
    #expect(response.head.fields.first(named: "location")?.text == "file:///etc/passwd")
    #expect(try await response.body.readAll() == Array("moved".utf8))
    #expect(response.url == url)
    #expect(origin.requests.count == 1)
  }

  @Test("a body without a length ends with the connection", arguments: TransportKind.allCases)
  func untilClose(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.0 200 OK\r\n\r\nold style")
      connection.close()
    }
    let (response, body) = try await kind.make().fetch(origin.address())
    #expect(body == "old style")
    // URLSession does not report the version.
    if kind == .curl { #expect(response.version == "1.0") }
  }

  @Test(
    "any status is an answer", arguments: TransportKind.allCases, [204, 304, 404, 500, 599, 999])
  func anyStatus(kind: TransportKind, status: Int) async throws {
    let origin = try LoopbackOrigin { _, connection in
      // URLSession on Linux refuses a status line without a reason.
      let reason = kind == .curl ? "" : " X"
      connection.send("HTTP/1.1 \(status)\(reason)\r\nContent-Length: 0\r\n\r\n")
    }
    let (response, body) = try await kind.make().fetch(origin.address())
    #expect(response.head.status == status)
    #expect(body.isEmpty)
  }

  @Test(
    "what comes after the stated length is no part of the body", arguments: TransportKind.allCases)
  func excessBytes(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 666 No\r\n\r\n")
      connection.close()
    }
    let transport = try kind.make()
    #expect(try await transport.fetch(origin.address()).body == "abc")
    #expect(try await transport.fetch(origin.address()).response.head.status == 200)
  }

  @Test("a HEAD request gets the head alone", arguments: TransportKind.allCases)
  func headRequest(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 999\r\nContent-Encoding: gzip\r\n\r\n")
    }
    let response = try await kind.make().send(
      HTTPRequest(method: .head, url: origin.address()), options: patient)
    // URLSession would decode the body of a GET, so its head says nothing of the coded one.
    let length = kind == .curl ? "999" : nil
    #expect(response.head.fields.first(named: "content-length")?.text == length)
    #expect(try await response.body.readAll().isEmpty)
    #expect(origin.requests.map(\.method) == ["HEAD"])
  }

  @Test("requests one after the other share a connection", arguments: TransportKind.allCases)
  func reuse(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { request, connection in connection.answer(request.target) }
    let transport = try kind.make()
    for number in 0..<10 {
      #expect(try await transport.fetch(origin.address("/\(number)")).body == "/\(number)")
    }
    #expect(origin.connections == 1)
  }

  @Test("two hundred requests at once all get their own answer", arguments: TransportKind.allCases)
  func manyAtOnce(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { request, connection in
      connection.answer(String(repeating: request.target, count: 5_000))
    }
    let transport = try kind.make()
    let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        let url = try origin.address("/\(number)")
        group.addTask {
          let (_, body) = try await transport.fetch(url)
          return body != String(repeating: "/\(number)", count: 5_000)
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(wrong == 0)
    #expect(origin.requests.count == 200)
    // 64 at a time; a client may close one and open another.
    #expect(origin.connections < 128)
  }
}
