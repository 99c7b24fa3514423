import CacheFormat
import ClientTesting
import CurlHTTP
import Foundation
import LoopbackOrigin
import NginxOrigin
import Synchronization
import Testing

@testable import RemoteTier

/// The failure cases that only a real connection has.
@Suite(.timeLimit(.minutes(5)))
struct WireTests {
  private let key: ByteString = "GET http://a.test/x"
  private let body = Array(repeating: UInt8(42), count: 5000)

  /// What happens on the wire in place of an answer with some bytes.
  enum Trouble: String, CaseIterable {
    case silence, stallsInHead, stallsInBody, slow, garbage, truncated, tooLong, endless, closes

    func send(_ bytes: [UInt8], _ connection: OriginConnection) {
      let head = "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n"
      switch self {
      case .silence: connection.waitForClose()
      case .stallsInHead:
        connection.send("HTTP/1.1 200 O")
        connection.waitForClose()
      case .stallsInBody:
        connection.send(Array(head.utf8) + bytes.prefix(bytes.count / 2))
        connection.waitForClose()
      case .slow:
        connection.send(head)
        for byte in bytes where !connection.isOver {
          connection.send([byte])
          usleep(50_000)
        }
      case .garbage:
        connection.send("\u{1}\u{2} this is not HTTP\r\n\r\n")
        connection.close()
      case .truncated:
        connection.send(Array(head.utf8) + bytes.dropLast(3))
        connection.close()
      case .tooLong:
        connection.send(Array("HTTP/1.0 200 OK\r\n\r\n".utf8) + bytes + [1, 2, 3])
        connection.close()
      case .endless:
        connection.send("HTTP/1.0 200 OK\r\n\r\n")
        let much = [UInt8](repeating: 0x20, count: 1 << 16)
        while !connection.isOver { connection.send(much) }
      case .closes: connection.close()
      }
    }

    /// The reason of the miss, for a document and for a body.
    func reason(forDocument: Bool) -> [RemoteReason] {
      switch self {
      case .silence, .stallsInHead, .stallsInBody, .slow: [.timeout]
      case .garbage: [.garbage, .unreachable]
      case .truncated: [.truncated]
      case .tooLong: [forDocument ? .badDocument : .wrongBytes]
      // A busy machine may not get as far as the limit.
      case .endless: [forDocument ? .badDocument : .wrongBytes, .timeout]
      case .closes: [.unreachable]
      }
    }
  }

  /// Starts a server with the objects of one in memory, and a trouble for a folder.
  private func serve(_ memory: MemoryServer, _ trouble: Trouble, _ folder: String) throws
    -> LoopbackOrigin
  {
    let list = ObjectName.purgeList(of: "default").path
    return try LoopbackOrigin { (request: OriginRequest, connection: OriginConnection) in
      let object = memory.objects["cache.test" + request.target]
      guard let object, !request.target.hasSuffix(list) else {
        connection.answer("no", status: "404 Not Found")
        return
      }
      if request.target.contains("/\(folder)/") {
        trouble.send(object.bytes, connection)
      } else {
        connection.answer(object.bytes)
      }
    }
  }

  private func makeMachine(_ base: String, brief: Bool = true) throws -> Machine {
    try Machine(try CurlTransport(NetworkSetup(proxy: .none)), bases: [base]) { options in
      options.mode = .read
      guard brief else { return }
      options.limits.firstByte = .milliseconds(150)
      options.limits.whole = .milliseconds(400)
    }
  }

  @Test(
    "each trouble on the wire is a miss with its reason", arguments: Trouble.allCases,
    ["ac", "cas"]
  )
  func troubles(_ trouble: Trouble, folder: String) async throws {
    let memory = MemoryServer()
    await (try Machine(memory)).offer(key, body)
    let origin = try serve(memory, trouble, folder)
    let takesTime = [.silence, .stallsInHead, .stallsInBody, .slow].contains(trouble)
    let machine = try makeMachine("\(origin.base)/team/", brief: takesTime)
    let result = await machine.lookUp(key)
    let reasons = trouble.reason(forDocument: folder == "ac")
    #expect(reasons.contains { result == .failure($0) }, "\(result)")
    origin.stop()
  }

  @Test("of 200 look-ups beside a hanging server few are sent, one after the other or at once")
  func hangingServer() async throws {
    for atOnce in [false, true] {
      let origin = try LoopbackOrigin { (_: OriginRequest, connection: OriginConnection) in
        connection.waitForClose()
      }
      // The real clock, because the breaker opens again.
      var options = try RemoteCacheOptions(
        servers: [try RemoteServer(origin.base)], secret: Machine.secret)
      options.mode = .read
      let cache = RemoteCache(
        options: options, transport: try CurlTransport(NetworkSetup(proxy: .none)))
      let start = ContinuousClock.now
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<200 {
          group.addTask {
            _ = try? await cache.lookUp(ByteString("\(number)")) { _ in .failure(.noVariant) }
          }
          if !atOnce { await group.waitForAll() }
        }
      }
      let time = start.duration(to: .now)
      // What bounds the time: each request costs 500 ms, and the breaker lets few of them through.
      #expect(origin.connections <= (atOnce ? 64 : 12), "\(origin.connections)")
      #expect(cache.statistics.misses.values.reduce(0, +) == 200)
      #expect(cache.statistics.hits == 0)
      print("200 look-ups beside a hanging server, at once: \(atOnce), took \(time)")
      origin.stop()
    }
  }

  @Test("a server that is gone is a miss at once")
  func unreachable() async throws {
    let port = try LoopbackListener.unusedPort()
    let machine = try makeMachine("http://127.0.0.1:\(port)/")
    #expect(await machine.lookUp(key) == .failure(.unreachable))
  }

  @Test(
    "a certificate that is expired or for another name is a miss",
    .enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
  func certificates() async throws {
    let servers = ["good", "other", "expired"].enumerated().map { number, name in
      """
      server { listen PORT\(number) ssl; ssl_certificate FOLDER/\(name).pem;
        ssl_certificate_key FOLDER/\(name).key; location / { return 404; } }
      """
    }
    let origin = try await NginxOrigin(
      servers.joined(), in: Certificates.make(), ports: 3)
    var setup = NetworkSetup(proxy: .none)
    setup.certificateAuthoritiesFile = "\(origin.folder.path)/ca.pem"
    for (port, reason) in [RemoteReason.absent, .untrusted, .untrusted].enumerated() {
      let machine = try Machine(
        try CurlTransport(setup), bases: [origin.address(port: port)])
      #expect(await machine.lookUp(key) == .failure(reason))
    }
  }
}
