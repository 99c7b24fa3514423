package import Foundation
@_exported public import TestSupport
import ToolTesting

/// Runs an nginx of its own on loopback, in a folder of its own; both go away with it.
///
/// Needs the program of Debian's package `nginx`; tests say `.enabled(if:
/// NginxOrigin.isInstalled)`.
package final class NginxOrigin: Sendable {
  /// Tells whether nginx and openssl are there; without them the tests that need them are skipped.
  package static let isInstalled =
    Program.find("nginx") != nil && Program.find("openssl") != nil

  /// The folder: the certificates, and `site` with what `root` of the configuration may name.
  package var folder: URL { temporary.url }
  /// The ports that the configuration got for `PORT0`, `PORT1` and so on.
  package let ports: [UInt16]
  private let child: Child
  private let temporary: TemporaryFolder

  /// Starts nginx.
  ///
  /// - Parameters:
  ///   - servers: The `server` blocks; `PORT0`, `PORT1` ... stand for `127.0.0.1:` and a free port,
  ///     `FOLDER` for the folder.
  ///   - folder: What ``Certificates/make()`` has filled, or an empty folder.
  ///   - count: How many ports are needed.
  package init(_ servers: String, in folder: TemporaryFolder, ports count: Int = 1) async throws {
    temporary = folder
    let folder = folder.url
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("site"), withIntermediateDirectories: true)
    var words = ""
    for _ in 0..<5 {
      let free = try LoopbackListener.unusedPorts(count)
      try Self.configuration(servers, folder, free)
        .write(to: folder.appendingPathComponent("nginx.conf"), atomically: true, encoding: .utf8)
      let program = try Program(
        "nginx", ["-p", folder.path, "-e", "stderr", "-c", "\(folder.path)/nginx.conf"])
      for await piece in program.words {
        words += piece
        // The notice is written once all ports are bound; one that is taken ends the process.
        guard words.contains("event method") else { continue }
        ports = free
        child = program.child
        return
      }
      _ = try program.child.wait()
    }
    throw NginxFailure(what: "nginx does not start: \(words)")
  }

  deinit {
    child.send(SIGKILL)
    _ = try? child.wait()
  }

  /// Gives the address of a port, for `https` by default.
  package func address(
    _ target: String = "/", port: Int = 0, scheme: String = "https", host: String = "localhost"
  ) -> String {
    "\(scheme)://\(host):\(ports[port])\(target)"
  }

  private static func configuration(
    _ servers: String, _ folder: URL, _ ports: [UInt16]
  ) -> String {
    var servers = servers.replacingOccurrences(of: "FOLDER", with: folder.path)
    for (number, port) in ports.enumerated() {
      servers = servers.replacingOccurrences(of: "PORT\(number)", with: "127.0.0.1:\(port)")
    }
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder.path)/\($0);" }.joined(separator: " ")
    return """
      daemon off; master_process off; error_log stderr notice; pid \(folder.path)/nginx.pid; worker_processes 1;
      \(geteuid() == 0 ? "user root;" : "")
      events { worker_connections 256; }
      http { access_log off; \(temporary) client_max_body_size 100m; \(servers) }
      """
  }
}

/// Tells that a server or a certificate could not be made.
package struct NginxFailure: Error {
  package let what: String
}
