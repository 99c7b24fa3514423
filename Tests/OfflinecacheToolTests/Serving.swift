import CLibrary
import Testing
import ToolTesting

/// A server that runs in a folder of its own, and a client with a store of its own.
struct Serving {
  let server: ToolRun
  let client: ToolRun
  let running: RunningTool
  let base: String

  /// - Parameters:
  ///   - state: The folder for program state; by default that of the tests.
  ///   - wrapper: A program that runs the server, whose command line comes after its own words.
  init(
    _ arguments: String..., listen: String = "127.0.0.1:0", on run: ToolRun? = nil,
    state: String? = nil, under wrapper: [String] = []
  ) throws {
    server = run ?? ToolRun()
    client = ToolRun()
    var words = wrapper
    if let state { words += ["/usr/bin/env", "XDG_STATE_HOME=\(state)"] }
    words += [try ToolRun.executable(), "--store", server.store, "serve", "--listen", listen]
    running = try server.start(program: (words + arguments).map { Array($0.utf8) })
    var base: String?
    try running.child.wait { [running] in
      base = Self.base(in: try running.errors)
      return base != nil
    }
    self.base = try #require(base)
  }

  /// Finds where the server says that it listens.
  private static func base(in text: String) -> String? {
    guard let start = text.firstRange(of: "http://") ?? text.firstRange(of: "https://"),
      let end = text[start.lowerBound...].firstRange(of: "/\n")
    else { return nil }
    return String(text[start.lowerBound..<end.lowerBound])
  }

  func fetch(_ path: String) throws -> ToolResult {
    try client.run("fetch", "--refresh", base + path, "-o", "-")
  }
}

/// A client that sends bytes to a port of loopback.
final class TunnelClient {
  struct NoConnection: Error {}

  private let descriptor: Int32

  init(_ port: String) throws {
    guard let port = UInt16(port) else { throw NoConnection() }
    descriptor = socket(AF_INET, streamType, 0)
    if !connectToLoopback(descriptor, port: port) { throw NoConnection() }
  }

  deinit { close(descriptor) }

  /// Sends a text, and returns what comes next.
  func ask(_ text: String) -> String {
    // Safety: both calls use the bytes of arrays, with their counts.
    _ = unsafe Array(text.utf8).withUnsafeBytes {
      unsafe write(descriptor, $0.baseAddress, $0.count)
    }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe read(descriptor, $0.baseAddress, $0.count)
    }
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }
}
