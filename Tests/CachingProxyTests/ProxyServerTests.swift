import CLibrary
import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

@Suite("A server") struct ProxyServerTests {
  @Test func `answers byte for byte as expected`() async throws {
    let backend = ScriptedBackend(stored: { _ in
      ProxyAnswer.text("hello", fields: [HTTPField("X-Empty", ""), HTTPField("B", "1")])
    })
    let reading = try await withServer(backend) { port, _ in
      try await exchange(port, "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    }
    #expect(
      reading.text
        == "HTTP/1.1 200 OK\r\nConnection: close\r\nX-Empty:  \r\nB: 1\r\n"
        + "Date: Fri, 15 Jan 2027 08:00:00 GMT\r\nVia: 1.1 test\r\n"
        + "Cache-Status: Test; fwd=uri-miss\r\nContent-Length: 5\r\n\r\nhello")
  }

  @Test func `passes requests on with their fields, in order and apart`() async throws {
    let backend = ScriptedBackend(answering: { request, body, _ in
      let fields = request.fields.map { "\($0.name)=\($0.text)" }.joined(separator: "|")
      return .text("\(request.method) \(request.url) \(fields) \(body == nil)")
    })
    let reading = try await withServer(backend) { port, _ in
      try await exchange(
        port, "GET /a?b HTTP/1.1\r\nHost: x\r\nA: 1\r\nB: 2\r\na: 3\r\nCookie: a=b; c=d\r\n\r\n")
    }
    #expect(
      reading.body
        == "GET http://origin.test/a?b A=1|B=2|a=3|Cookie=a=b; c=d|Via=1.1 test|"
        + "Forwarded=for=127.0.0.1;host=\"x\";proto=http|X-Forwarded-For=127.0.0.1|"
        + "X-Forwarded-Proto=http|X-Forwarded-Host=x true")
  }

  @Test func `keeps the connection, and answers what was sent ahead in order`() async throws {
    let backend = ScriptedBackend(
      stored: { $0.url.target == "/stored" ? .text("stored") : nil },
      answering: { request, _, _ in .text(request.url.target) })
    let readings = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        let targets = ["/1", "/stored", "/2", "/3", "/stored"]
        client.send(targets.map { "GET \($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
        return targets.map { _ in client.readAnswer().body }
      }
    }
    #expect(readings == ["/1", "stored", "/2", "/3", "stored"])
  }

  @Test func `keeps connections of HTTP/1.0 on request only`() async throws {
    let readings = try await withServer(ScriptedBackend()) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let first = client.readAnswer()
        client.send("GET / HTTP/1.0\r\n\r\n")
        return [first, client.read()]
      }
    }
    #expect(readings[0].field("Connection") == "Keep-Alive")
    #expect(readings[1].body == "ok")
    #expect(readings[1].end == .closed)
  }

  @Test func `answers a request that has been here before with 508`() async throws {
    let reading = try await withServer(ScriptedBackend()) { port, _ in
      try await exchange(port, "GET / HTTP/1.1\r\nHost: x\r\nVia: 1.1 a, 1.1 test\r\n\r\n")
    }
    #expect(reading.status == 508)
    #expect(reading.field("Cache-Status") == "OfflineCache; detail=\"loop\"")
  }

  @Test func `answers OPTIONS * and CONNECT by itself`() async throws {
    let (options, connect) = try await withServer(ScriptedBackend()) { port, _ in
      (
        try await exchange(port, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
        try await exchange(port, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", untilClosed: true)
      )
    }
    #expect(options.status == 200)
    #expect(options.field("Allow") != nil)
    #expect(connect.status == 501)
    #expect(connect.body.contains("opens no tunnels"))
  }

  @Test func `serves its pages, also to HEAD`() async throws {
    let tested = try StatusUnderTest()
    try await withServer(ScriptedBackend(), pages: tested.status) { port, _ in
      let page = try await exchange(
        port, "GET /.offlinecache/status?b HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(page.status == 200)
      #expect(page.body.hasPrefix("{"))
      #expect(page.field("Content-Type") == "application/json")
      let none = try await exchange(
        port, "GET /.offlinecache/b HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(none.status == 404)
      let head = try await exchange(
        port, "HEAD /.offlinecache/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        untilClosed: true)
      #expect(head.field("Content-Length") != nil)
      #expect(head.body.isEmpty)
      let post = try await exchange(
        port, "POST /.offlinecache/status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
      #expect(post.status == 405)
    }
  }

  @Test func `tells its observers of every answer`() async throws {
    let recorder = Recorder()
    let records = try await withServer(
      ScriptedBackend(stored: { $0.url.target == "/a" ? .text("12345") : nil }), origin: nil,
      observers: [recorder]
    ) { port, _ in
      _ = try await exchange(port, "GET http://u:secret@h.test/a HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await exchange(port, "PUT ftp://u:secret@h.test/ HTTP/1.1\r\nHost: h\r\n\r\n")
      return try await recorder.records(count: 2)
    }
    #expect(records.map(\.url) == ["http://h.test/a", "ftp://h.test/"])
    #expect(records.map(\.status) == [200, 400])
    #expect(records.map(\.method) == ["GET", "PUT"])
    #expect(records[0].bytesSent == 5)
    #expect(records.allSatisfy { $0.clientAddress == "127.0.0.1" && $0.isComplete })
    #expect(records[0].cacheStatus?.description == "Test; fwd=uri-miss")
  }

  @Test func `tells them also of what could not be read`() async throws {
    let recorder = Recorder()
    let record = try await withServer(ScriptedBackend(), observers: [recorder]) { port, _ in
      _ = try await exchange(
        port, "GET /a HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n", untilClosed: true)
      return try await recorder.records(count: 1)[0]
    }
    #expect(record.status == 400)
    #expect(record.url == "/a")
    #expect(record.reason == "the request cannot be read")
  }

  @Test func `tells them the method of what is refused because of its head`() async throws {
    let recorder = Recorder()
    let record = try await withServer(ScriptedBackend(), observers: [recorder]) { port, _ in
      _ = try await exchange(
        port, "PUT /a HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", untilClosed: true)
      return try await recorder.records(count: 1)[0]
    }
    #expect(record.status == 400)
    #expect(record.method == "PUT")
  }

  @Test(arguments: [(65_536, 16_320), (1024, 192), (512, 64), (300, 37)] as [(UInt64, Int)])
  func `takes as many connections as there are descriptors for`(files: UInt64, limit: Int) {
    #expect(ProxyServer.connectionLimit(files: files) == limit)
  }

  #if os(Linux)
    @Test func `keeps descriptors while many clients read long bodies slowly`() async {
      await #expect(processExitsWith: .success) {
        closeInheritedSockets()
        var files = rlimit(rlim_cur: 1024, rlim_max: 1024)
        // Safety: the call reads the local.
        #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0)
        let folder = TemporaryFolder()
        let length = 8 << 20
        let file = try OpenFile(
          "\(folder.path)/body", [UInt8](repeating: 0, count: length))
        let backend = ScriptedBackend(stored: { _ in
          var answer = ProxyAnswer.text("")
          answer.body = .file(
            descriptor: file.descriptor, offset: 0, length: UInt64(length), owner: file)
          return answer
        })
        try await withServer(backend) { port, _ in
          try await onThread {
            // More than may be served at a time. With two descriptors for each there would be none left.
            var clients = try (0..<360).map { _ in
              let client = try RawClient(port: port, receiveBuffer: 4096)
              client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
              return client
            }
            let served = ProxyServer.connectionLimit(files: 1024)
            for client in clients.prefix(served) {
              #expect(client.read(until: "\r\n\r\n").status == 200)
            }
            // Safety: the path is a C string.
            let descriptor = unsafe open("/dev/null", O_RDONLY)
            #expect(descriptor >= 0)
            close(descriptor)
            // The others come in when these leave.
            clients.removeFirst(served)
            for client in clients { #expect(client.read(until: "\r\n\r\n").status == 200) }
          }
        }
      }
    }
  #endif
}

#if os(Linux)
  /// Closes the sockets of other tests that a new process has got: libcurl lets children inherit some.
  private func closeInheritedSockets() {
    for descriptor in Int32(3)..<20_000 {
      var status = stat()
      // Safety: the call fills the local.
      if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK {
        close(descriptor)
      }
    }
  }
#endif
