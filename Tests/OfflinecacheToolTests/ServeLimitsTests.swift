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
      let notice =
        "this process may have 96 files open, enough for 12 connections; allow 1024 or more"
      try serving.running.child.wait { try serving.running.errors.contains(notice) }
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

    private static let mayMount: Bool = {
      let words = ["/usr/bin/env", "unshare", "-m", "true"].map { Array($0.utf8) }
      return geteuid() == 0 && (try? ToolRun().run(program: words).status) == 0
    }()

    @Test(.enabled(if: mayMount, "needs root, for a name service of its own"))
    func `look-ups of names are limited, also those whose clients have left`() throws {
      // A name server that does not answer.
      let silent = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
      defer { close(silent) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(53).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F35_3535).bigEndian
      let isBound = unsafe withUnsafeBytes(of: address) { bytes in
        // Safety: the address is read from a local of its size.
        unsafe bind(
          silent, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
          socklen_t(bytes.count)) == 0
      }
      try #require(isBound)
      let folder = TemporaryFolder()
      let names = "\(folder.path)/resolv.conf"
      let text = Array("nameserver 127.53.53.53\n".utf8)
      let file = unsafe open(names, O_WRONLY | O_CREAT, 0o644)
      // Safety: the bytes are read.
      #expect(unsafe write(file, text, text.count) == text.count)
      close(file)
      let serving = try Serving(
        "--log", "none",
        under: ["/usr/bin/env", "unshare", "-m"] + shell("mount --bind \(names) /etc/resolv.conf"))
      var answer = ""
      for number in 0..<400 where answer.isEmpty {
        answer = try Asking(serving, "http://n\(number).test/").answer(within: 50)
      }
      #expect(answer.contains("too many names are being looked up"), "\(answer)")
      serving.running.child.send(SIGTERM)
      #expect(try serving.running.finish().status == 0)
    }
  }
#endif
