import CacheSystem
import HTTPSemantics
import HTTPTransports
import TestSupport
import Testing

@testable import CachingProxy

@Suite("The end of a connection", .timeLimit(.minutes(5))) struct ClientConnectionTests {
  /// Runs a server whose connections are all on one thread.
  private func withOneThread<Result: Sendable>(
    _ backend: some ProxyBackend, _ body: @escaping @Sendable (UInt16) throws -> Result
  ) async throws -> Result {
    let options = ProxyOptions(
      listen: ListenAddress(host: "127.0.0.1", port: 0),
      origin: try NormalizedURL("http://origin.test"), threads: 1, idleSeconds: 3600)
    let server = ProxyServer(
      backend: backend, options: options, pages: nil, observers: [], clock: TestClock())
    let port = try server.start().port
    do {
      let result = try await onThread { try body(port) }
      await server.stop(grace: .zero)
      return result
    } catch {
      await server.stop(grace: .zero)
      throw error
    }
  }

  @Test(arguments: ["GET /broken HTTP/1.1", "GET /broken HTTP/1.0", "GET /whole HTTP/1.0"])
  func `comes behind a body at once, however many other clients are idle`(line: String) async throws
  {
    let backend = ScriptedBackend(answering: { request, _, _ in
      switch request.url.target {
      case "/broken":
        let length: UInt64? = line.hasSuffix("1.1") ? 100 : nil
        return .stream(Pieces(["some", "thing"], isBroken: true), length: length)
      case "/whole": return .stream(Pieces(["some", "thing"]))
      default: return .text("ok")
      }
    })
    let (idle, reading) = try await withOneThread(backend) { port in
      let other = try RawClient(port: port)
      other.send("GET / HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      let idle = other.readAnswer()
      let client = try RawClient(port: port)
      client.send("\(line)\r\nHost: localhost:\(port)\r\n\r\n")
      let reading = client.read()
      // The other connection is still there.
      other.send("GET / HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      #expect(other.readAnswer().body == "ok")
      return (idle, reading)
    }
    #expect(idle.body == "ok")
    #expect(reading.status == 200)
    #expect(reading.end != .open)
  }

  @Test func `of a client is seen where it comes together with a part of a body`() async throws {
    let gate = Monitor((taken: 0, isBusy: false, mayGoOn: false))
    let backend = ScriptedBackend(
      stored: { _ in
        // The server's only thread waits here.
        gate.change { $0.isBusy = true }
        gate.wait { $0.mayGoOn ? () : nil }
        return .text("ok")
      },
      answering: { _, body, _ in
        guard case .stream(_, let source) = body else { return .text("no body") }
        while (try? await source.next()) != nil { gate.change { $0.taken += 1 } }
        return .text("broken", status: 502)
      })
    let end = try await withOneThread(backend) { port in
      let client = try RawClient(port: port)
      client.send("POST / HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Length: 100\r\n\r\none")
      gate.wait { $0.taken == 1 ? () : nil }
      let other = try RawClient(port: port)
      other.send("GET / HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      gate.wait { $0.isBusy ? () : nil }
      client.send("two")
      client.finishSending()
      gate.change { $0.mayGoOn = true }
      #expect(other.readAnswer().body == "ok")
      return client.read().end
    }
    #expect(end != .open)
  }

  @Test(
    arguments: [
      "GET / HTTP/1.1\r\nHost: HOST\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 300000\r\n\r\n"
        + String(repeating: "a", count: 300_000),
    ], [true, false])
  func `of a client that has sent all of its request does not cost it the answer`(
    text: String, takesBodyFirst: Bool
  ) async throws {
    let (goes, going) = AsyncStream.makeStream(of: Void.self)
    let backend = ScriptedBackend(answering: { _, body, _ in
      if takesBodyFirst { _ = await body.bytes() }
      for await _ in goes { break }
      _ = await body.bytes()
      return .text("answer")
    })
    let reading = try await withOneThread(backend) { port in
      // The thread has another connection to wait for.
      let idle = try RawClient(port: port)
      idle.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
      _ = idle.readAnswer()
      let client = try RawClient(port: port)
      client.send(text.replacing("HOST", with: "localhost:\(port)"))
      client.finishSending()
      // Another request shows that the thread has been round.
      idle.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
      _ = idle.readAnswer()
      going.yield()
      return client.read()
    }
    // After a second, a 100 comes first.
    #expect(reading.text.contains("HTTP/1.1 200 OK\r\n") && reading.text.hasSuffix("answer"))
  }
}
