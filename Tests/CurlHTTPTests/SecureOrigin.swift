import CLibrary
import Foundation
import NginxOrigin
import Synchronization
import Testing
import ToolTesting
import TransportTesting

@testable import CurlHTTP

/// A server with TLS whose answers are given by the test: each one that is sent at once is one record.
/// It has one connection at a time, and needs openssl of Debian.
final class SecureOrigin: Sendable {
  /// Ends a connection without the alert that closes TLS.
  static let cut = "q"

  private let program: Program
  private let input: ToolTesting.Pipe
  private let words = Mutex("")
  private let setup: NetworkSetup
  let port: UInt16
  private let folder: TemporaryFolder

  /// Starts the server.
  ///
  /// - Parameters:
  ///   - script: Is called with each request line, in a task of its own.
  ///   - options: More options of `openssl s_server`.
  init(
    _ options: [String] = [],
    _ script: @escaping @Sendable (_ target: String, SecureOrigin) async throws -> Void = { _, _ in
    }
  ) async throws {
    folder = try await Certificates.make()
    var setup = NetworkSetup(proxy: .none)
    setup.certificateAuthoritiesFile = "\(folder.url.path)/ca.pem"
    self.setup = setup
    input = try ToolTesting.Pipe()
    program = try Program(
      "openssl",
      [
        "s_server", "-accept", "127.0.0.1:0", "-cert", "\(folder.url.path)/good.pem", "-key",
        "\(folder.url.path)/good.key", "-naccept", "9",
      ] + options, input: input.reader)
    var text = ""
    var iterator = program.words.makeAsyncIterator()
    while !text.contains(/ACCEPT 127.0.0.1:\d+\n/), let piece = await iterator.next() {
      text += piece
    }
    port = try #require(text.firstMatch(of: /ACCEPT 127.0.0.1:(\d+)/).flatMap { UInt16($0.1) })
    Task { [weak self, words = program.words] in
      for await piece in words {
        guard let self else { return }
        for target in self.targets(in: piece) { try await script(target, self) }
      }
    }
  }

  deinit {
    close(input.reader)
    close(input.writer)
  }

  /// The number of connections.
  var connections: Int { words.withLock { $0.split(separator: "CIPHER is").count - 1 } }

  /// Sends one record to the client.
  func send(_ text: String) throws {
    // Safety: the bytes are read during the call.
    let count = unsafe text.withCString { unsafe write(input.writer, $0, strlen($0)) }
    try #require(count == text.utf8.count)
  }

  /// Waits until the server has taken all that was sent: what it takes next is another record, or a
  /// command.
  func waitUntilSent() async throws {
    try await eventually { try input.waitingBytes == 0 }
  }

  func transport() throws -> CurlTransport { try CurlTransport(setup) }

  func address(_ target: String = "/") throws -> NormalizedURL {
    try NormalizedURL("https://127.0.0.1:\(port)\(target)")
  }

  /// Returns the targets of the requests that are complete with these words.
  private func targets(in piece: String) -> [String] {
    let request = /GET (\S+) HTTP\/1\.1\r\n(?:[^\r\n]+\r\n)*\r\n/
    return words.withLock { words in
      let known = words.matches(of: request).count
      words += piece
      return words.matches(of: request).dropFirst(known).map { String($0.1) }
    }
  }
}
