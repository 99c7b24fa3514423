import CLibrary
import CacheSystem
import LoopbackOrigin
import TestSupport
import Testing
import ToolTesting

#if os(Linux)
  /// What clients can make a forward proxy hold.
  @Suite(.timeLimit(.minutes(3))) struct ServeLimitsTests {
    /// A client that has sent a request.
    private final class Asking {
      private let descriptor: Int32

      init(_ serving: Serving, _ url: String) throws {
        descriptor = socket(AF_INET, streamType, 0)
        let port = UInt16(serving.base.dropFirst("http://127.0.0.1:".count)) ?? 0
        guard connectToLoopback(descriptor, port: port) else { throw TunnelClient.NoConnection() }
        let bytes = Array("GET \(url) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        // Safety: the bytes are read.
        #expect(unsafe write(descriptor, bytes, bytes.count) == bytes.count)
      }

      deinit { close(descriptor) }

      /// Returns what has been answered within a time in milliseconds.
      func answer(within time: Int32) -> String {
        var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Safety: poll reads and writes the one item.
        guard unsafe poll(&item, 1, time) > 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: 4096)
        // Safety: at most the size of the array is written.
        let count = unsafe read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
      }
    }

    /// A shell that becomes another program after a command.
    private func shell(_ command: String) -> [String] {
      ["/bin/sh", "-c", "\(command) && exec \"$@\"", "sh"]
    }

    @Test func `connections to origins are not kept beyond the limit of open files`() async throws {
      let released = Monitor(false)
      let origin = try LoopbackOrigin { request in
        if request.target == "/slow" { released.wait { $0 ? () : nil } }
        return OriginAnswer("here")
      }
      defer { origin.stop() }
      // There is room for twelve connections. Without a limit, twenty would be kept.
      let serving = try Serving(
        "--resolve", "*:\(origin.port):127.0.0.1", "--log", "none",
        under: shell("ulimit -n 96"))
      let slow = try (0..<4).map { number in
        try Asking(serving, "http://s\(number).test:\(origin.port)/slow")
      }
      for number in 0..<14 {
        let client = try Asking(serving, "http://n\(number).test:\(origin.port)/")
        #expect(client.answer(within: 60_000).hasPrefix("HTTP/1.1 200 "))
      }
      for _ in 0..<6 { await origin.connectionEnd() }
      released.change { $0 = true }
      for client in slow { #expect(client.answer(within: 60_000).hasPrefix("HTTP/1.1 200 ")) }
      serving.running.child.send(SIGTERM)
      #expect(try serving.running.finish().status == 0)
    }
  }
#endif
