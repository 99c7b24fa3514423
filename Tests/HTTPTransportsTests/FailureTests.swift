import Testing
import TransportTesting

@testable import CurlHTTP

struct FailureTests {
  @Test(arguments: TransportKind.allCases)
  func `a reset ends the transfers, with and without a head`(kind: TransportKind) async throws {
    let began = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { request, connection in
      switch request.target {
      case "/head": connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
      case "/none": began.continuation.yield()
      default: return connection.answer("ok")
      }
      connection.waitForClose()
    }
    let transport = try kind.make()
    let endless = TransportOptions(connectTimeout: nil, idleTimeout: nil)
    let response = try await transport.send(
      HTTPRequest(url: origin.address("/head")), options: endless)
    let silent = try origin.address("/none")
    async let failure = transport.failure(silent, options: endless)
    for await _ in began.stream { break }
    await transport.reset()
    #expect(await failure?.code == .cancelled)
    let error = await #expect(throws: TransportError.self) { try await response.body.readAll() }
    #expect(error?.code == .cancelled)
    #expect(try await transport.fetch(origin.address()).body == "ok")
  }

  private static let ok = "HTTP/1.1 200 OK\r\n"
  private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

  private static let cutAnswers: [(String, TransportError.Code)] = [
    ("", .connectionLost),
    ("HTTP/1.1 2", .connectionLost),
    ("HTTP/1.1 200 OK", .connectionLost),
    ("HTTP/1.1 200 OK\r\nContent-Le", .connectionLost),
    ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", .connectionLost),
    ("HTTP/1.1 100 Continue\r\n\r\n", .connectionLost),
    ("HTTP/1.1 302 Found\r\nLocation: /x", .connectionLost),
    (ok + "Content-Length: 10\r\n\r\n", .truncatedBody),
    (ok + "Content-Length: 10\r\n\r\nfive.", .truncatedBody),
    (ok + "Content-Length: 99999999999\r\n\r\nfive.", .truncatedBody),
    (chunked, .truncatedBody),
    (chunked + "5\r\nab", .truncatedBody),
    (chunked + "5\r\nabcde", .truncatedBody),
    (chunked + "5\r\nabcde\r\n", .truncatedBody),
    (chunked + "5\r\nabcde\r\n0", .truncatedBody),
    (chunked + "5\r\nabcde\r\n0\r\nX: y\r\n", .truncatedBody),
    (chunked + "xyz\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    (chunked + "0x5\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    (chunked + "5 5\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    (chunked + "-5\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    (chunked + "\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    (chunked + "3\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    (chunked + "7\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    (chunked + "5\nabcde\n0\n\n", .truncatedBody),
    (chunked + "5\r\nabcde\r\n0\r\nX: y\0\r\n\r\n", .protocolViolation),
    (chunked + "7FFFFFFFFFFFFFFF\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    (chunked + "8000000000000000\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    (chunked + "FFFFFFFFFFFFFFFFFF\r\nabcde\r\n0\r\n\r\n", .truncatedBody),
    ("SSH-2.0-OpenSSH_9.2\r\n\r\n", .protocolViolation),
    ("<html>HTTP/0.9</html>", .protocolViolation),
    ("HTTP/1.1 abc OK\r\n\r\n", .protocolViolation),
    ("HTTP/1.1 099 Low\r\n\r\n", .protocolViolation),
    ("HTTP/1.1 1000 High\r\n\r\n", .protocolViolation),
    ("HTTP 200 OK\r\n\r\n", .protocolViolation),
    ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", .protocolViolation),
    (ok + "no colon\r\n\r\n", .protocolViolation),
    (ok + "X: a\rY: b\r\nContent-Length: 0\r\n\r\n", .protocolViolation),
    (ok + "X: a\0b\r\nContent-Length: 0\r\n\r\n", .protocolViolation),
  ]

  /// Holds fields that do not say in one way only where the body ends.
  private static let badFraming = [
    "Content-Length: -1", "Content-Length: +3", "Content-Length: x", "Content-Length: 3x",
    "Content-Length:", "Content-Length: 3,", "Content-Length: 0x3", "Content-Length: 3 3",
    "Content-Length: 3\r\nContent-Length: 5", "Content-Length: 3, 5",
    "Content-Length: 9223372036854775808", "Content-Length: 99999999999999999999999",
    "Content-Length : 3", "Content-Length:\r\n 3", "Content-Length: 3\r\n 5",
    "Content-Length: 3\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 3", "Transfer-Encoding: identity",
    "Transfer-Encoding:", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding : chunked",
    "Transfer-Encoding:\r\n chunked", "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunked;x=y",
  ]

  @Test("an answer whose end is a matter of opinion is refused", arguments: badFraming)
  func framing(fields: String) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
      connection.close()
    }
    let url = try origin.address()
    let error = await (try makeTransport()).failure(url)
    #expect(
      error == TransportError(.protocolViolation, url: url.string),
      "\(error?.description ?? "none")")
  }

  @Test("a transfer coding that names nothing is left out, and the body ends with its connection")
  func junkCoding() async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: qwertz\r\nA: 1\r\n\r\n3\r\nabc")
      connection.close()
    }
    let (response, body) = try await makeTransport().fetch(origin.address())
    #expect(body == "3\r\nabc")
    #expect(response.head.fields == [HTTPField("A", "1")])
  }

  @Test(
    "a transfer coding in HTTP/1.0, or a length of an interim answer, is refused",
    arguments: [
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 103 Hints\r\nContent-Length: 3\r\n\r\nHTTP/1.1 200 OK\r\n\r\nabcdef",
      "HTTP/1.1 103 Hints\r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK\r\n\r\nabcdef",
    ])
  func misplacedFraming(answer: String) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send(answer)
      connection.close()
    }
    let url = try origin.address()
    #expect(
      await (try makeTransport()).failure(url)
        == TransportError(.protocolViolation, url: url.string))
  }

  @Test("a length that is stated several times stands in the head once")
  func repeatedLength() async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3, 03\r\nA: 1\r\ncontent-length: 3\r\n")
      connection.send("\r\nabc")
    }
    let (response, body) = try await makeTransport().fetch(origin.address())
    #expect(body == "abc")
    #expect(response.head.fields == [HTTPField("Content-Length", "3"), HTTPField("A", "1")])
  }

  @Test(
    "an answer that is cut or broken is an error, never a short body",
    arguments: cutAnswers)
  func cuts(answer: String, code: TransportError.Code) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send(answer)
      connection.close()
    }
    let url = try origin.address()
    let error = await (try makeTransport()).failure(url)
    #expect(error == TransportError(code, url: url.string), "\(error?.description ?? "no error")")
  }

  @Test(
    "what was read before the cut is given, and the error stays the end",
    arguments: TransportKind.allCases)
  func bytesBeforeTheCut(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive.")
      connection.close()
    }
    let body = try await kind.make().send(
      HTTPRequest(url: origin.address()), options: patient
    ).body
    #expect(try await body.next() == Array("five.".utf8))
    for _ in 0..<2 {
      let error = await #expect(throws: TransportError.self) { try await body.next() }
      #expect(error?.code == .truncatedBody)
    }
  }

  @Test(
    "a head, or trailers, beyond the limits are refused",
    arguments: [
      "", "0\r\n",
    ], ["X: y\r\n", "X: \(String(repeating: "x", count: 900))\r\n"])
  func endlessFields(start: String, line: String) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send(
        start.isEmpty
          ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(start)")
      while !connection.isOver { connection.send(line) }
    }
    let url = try origin.address()
    #expect(
      await (try makeTransport()).failure(url) == TransportError(.headTooLarge, url: url.string))
  }

  @Test("interim answers without end are refused at the limit")
  func endlessInterim() async throws {
    let origin = try LoopbackOrigin { _, connection in
      while !connection.isOver { connection.send("HTTP/1.1 100\r\n\r\n") }
    }
    let url = try origin.address()
    #expect(
      await (try makeTransport()).failure(url) == TransportError(.headTooLarge, url: url.string))
  }

  @Test("a line of 1 MB is refused, one of 90 KiB is not")
  func longLine() async throws {
    let origin = try LoopbackOrigin { request, connection in
      let count = Int(request.target.dropFirst()) ?? 0
      connection.send("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: count))\r\n")
      connection.send("Content-Length: 0\r\n\r\n")
    }
    let transport = try makeTransport()
    let (response, _) = try await transport.fetch(origin.address("/\(90 << 10)"))
    #expect(response.head.fields.first?.value.count == 90 << 10)
    let url = try origin.address("/\(1 << 20)")
    #expect(await transport.failure(url) == TransportError(.headTooLarge, url: url.string))
  }

  @Test("a thousand fields are taken, ten thousand are refused")
  func manyFields() async throws {
    let origin = try LoopbackOrigin { request, connection in
      let count = Int(request.target.dropFirst()) ?? 0
      connection.send("HTTP/1.1 204 None\r\n\(String(repeating: "X: y\r\n", count: count))\r\n")
    }
    let transport = try makeTransport()
    #expect(try await transport.fetch(origin.address("/1000")).response.head.fields.count == 1_000)
    for count in [1_001, 10_000] {
      let url = try origin.address("/\(count)")
      #expect(await transport.failure(url) == TransportError(.headTooLarge, url: url.string))
    }
  }

  @Test("a port on which nobody listens cannot be connected to", arguments: TransportKind.allCases)
  func cannotConnect(kind: TransportKind) async throws {
    let url = try NormalizedURL("http://127.0.0.1:\(LoopbackListener.unusedPort())/")
    #expect(
      await (try kind.make()).failure(url) == TransportError(.cannotConnect, url: url.string))
  }

  @Test("a name that cannot be is not resolved", arguments: TransportKind.allCases)
  func cannotResolve(kind: TransportKind) async throws {
    // No label has more than 63 bytes, so the resolver asks nobody.
    let url = try NormalizedURL("http://\(String(repeating: "a", count: 64)).invalid/")
    #expect(
      await (try kind.make()).failure(url) == TransportError(.cannotResolve, url: url.string))
  }

  @Test("a server that does not speak TLS fails as TLS", .timeLimit(.minutes(5)))
  func noTLS() async throws {
    let origin = try LoopbackOrigin { _, _ in }
    let plain = try LoopbackOrigin { _, connection in connection.answer("") }
    let url = try NormalizedURL("https://127.0.0.1:\(plain.port)/")
    let transport = try makeTransport()
    // The client's first bytes are no request, so the origin answers nothing; it is cut instead.
    async let failure = transport.failure(url)
    await eventually { plain.connections > 0 }
    plain.stop()
    #expect(await failure?.code == .tls)
    _ = origin
  }

  @Test("a missing file of authorities is reported as that")
  func missingAuthorities() async throws {
    let plain = try LoopbackOrigin { _, _ in }
    let url = try NormalizedURL("https://127.0.0.1:\(plain.port)/")
    let transport = try CurlTransport(
      NetworkSetup(certificateAuthoritiesFile: "/nonexistent/authorities.pem", proxy: .none))
    #expect(await transport.failure(url) == TransportError(.authoritiesFile, url: url.string))
  }

  @Test(
    "a server that says nothing more runs into the idle timeout, before and after the head",
    arguments: TransportKind.allCases)
  func idleTimeout(kind: TransportKind) async throws {
    // URLSession does not say when it has connected, so the time for that would be added.
    let options = TransportOptions(connectTimeout: nil, idleTimeout: .milliseconds(40))
    for start in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"] {
      let origin = try LoopbackOrigin { _, connection in
        connection.send(start)
        connection.waitForClose()
      }
      let url = try origin.address()
      #expect(
        await (try kind.make()).failure(url, options: options)
          == TransportError(.timeout, url: url.string))
    }
  }

  @Test("the whole timeout ends a transfer that never rests", arguments: TransportKind.allCases)
  func wholeTimeout(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\n\r\n")
      while !connection.isOver { connection.send("drop") }
    }
    let url = try origin.address()
    let options = TransportOptions(idleTimeout: .seconds(30), wholeTimeout: .milliseconds(150))
    #expect(
      await (try kind.make()).failure(url, options: options)
        == TransportError(.timeout, url: url.string))
  }

  @Test(
    "an error says which URL, what happened, and what to do, without credentials",
    arguments: TransportKind.allCases)
  func description(kind: TransportKind) async throws {
    let port = try LoopbackListener.unusedPort()
    let url = try NormalizedURL("http://user:secret@127.0.0.1:\(port)/")
    let error = try #require(await (try kind.make()).failure(url))
    #expect(error.description.hasPrefix("http://127.0.0.1:\(port)/: no connection can be made"))
    // Foundation does not give the reason of the system.
    if kind == .curl { #expect(error.description.contains("onnection refused")) }
    #expect(
      error.description.hasSuffix(
        "check that the server runs, or the proxy in use, and the network is up"))
    #expect(!error.description.contains("secret"))
  }
}
