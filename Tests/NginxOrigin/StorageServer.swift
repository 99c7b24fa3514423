import Foundation
import ToolTesting

/// Runs a server that others wrote and that takes PUT, on loopback, in a folder of its own.
package final class StorageServer: Sendable {
  /// The servers that the tests know.
  package enum Kind: String, Sendable, CaseIterable {
    /// Apache with mod_dav, of Debian's package `apache2-bin`.
    case apache
    /// lighttpd with mod_webdav, of the packages `lighttpd` and `lighttpd-mod-webdav`.
    case lighttpd
    /// The S3 emulator moto, of PyPI's package `moto[server]`.
    case moto

    /// Whether the program is there.
    package var isInstalled: Bool {
      switch self {
      case .apache:
        Program.find("apache2") != nil
          && FileManager.default.fileExists(atPath: "\(StorageServer.apacheModules)/mod_dav.so")
      case .lighttpd:
        Program.find("lighttpd") != nil
          && FileManager.default.fileExists(atPath: "/usr/lib/lighttpd/mod_webdav.so")
      case .moto: Program.find("moto_server") != nil
      }
    }
  }

  fileprivate static let apacheModules = "/usr/lib/apache2/modules"

  /// The port on 127.0.0.1.
  package let port: UInt16
  private let child: Child
  private let folder: TemporaryFolder

  /// The URL of the root, without the slash at its end.
  package var base: String { "http://127.0.0.1:\(port)" }

  /// Starts a server and waits until it accepts connections.
  package init(_ kind: Kind) async throws {
    folder = TemporaryFolder()
    var words = ""
    for _ in 0..<5 {
      let free = try LoopbackListener.unusedPort()
      let program = try Self.start(kind, free, folder.url)
      for _ in 0..<600 {
        if Self.accepts(free) {
          (port, child) = (free, program.child)
          return
        }
        try await Task.sleep(for: .milliseconds(50))
      }
      program.child.send(SIGKILL)
      words = await program.words.reduce(into: "") { $0 += $1 }
      _ = try program.child.wait()
    }
    throw NginxFailure(what: "\(kind.rawValue) does not start: \(words)")
  }

  deinit {
    // Apache passes SIGTERM on to its children, and would leave them behind after SIGKILL.
    child.send(SIGTERM)
    _ = try? child.wait()
  }

  private static func start(_ kind: Kind, _ port: UInt16, _ folder: URL) throws -> Program {
    let site = folder.appendingPathComponent("site")
    try FileManager.default.createDirectory(at: site, withIntermediateDirectories: true)
    // Apache gives up root's rights, and must still get there.
    // Safety: the paths are copied as C strings for each call.
    unsafe chmod(folder.path, 0o755)
    unsafe chmod(site.path, 0o777)
    let file = folder.appendingPathComponent("\(kind.rawValue).conf").path
    switch kind {
    case .moto: return try Program("moto_server", ["-H", "127.0.0.1", "-p", "\(port)"])
    case .apache:
      try apache(port, folder.path).write(toFile: file, atomically: true, encoding: .utf8)
      return try Program("apache2", ["-DFOREGROUND", "-f", file])
    case .lighttpd:
      try lighttpd(port, folder.path).write(toFile: file, atomically: true, encoding: .utf8)
      return try Program("lighttpd", ["-D", "-f", file])
    }
  }

  private static func apache(_ port: UInt16, _ folder: String) -> String {
    let modules = ["mpm_event", "authz_core", "dav", "dav_fs"]
      .map { "LoadModule \($0)_module \(apacheModules)/mod_\($0).so" }.joined(separator: "\n")
    let user = geteuid() == 0 ? "User www-data\nGroup www-data" : ""
    // Safety: the path is copied as a C string.
    unsafe chmod(folder, 0o777)
    return """
      ServerRoot \(folder)
      ServerName localhost
      Listen 127.0.0.1:\(port)
      \(modules)
      \(user)
      PidFile \(folder)/apache.pid
      ErrorLog \(folder)/error.log
      DavLockDB \(folder)/locks
      DocumentRoot \(folder)/site
      <Directory \(folder)/site>
        Dav On
        Require all granted
      </Directory>
      """
  }

  private static func lighttpd(_ port: UInt16, _ folder: String) -> String {
    """
    server.modules = ( "mod_webdav" )
    server.document-root = "\(folder)/site"
    server.bind = "127.0.0.1"
    server.port = \(port)
    server.errorlog = "\(folder)/error.log"
    server.upload-dirs = ( "\(folder)" )
    webdav.activate = "enable"
    """
  }

  /// Returns whether something accepts connections on a port.
  private static func accepts(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, streamType, 0)
    defer { close(descriptor) }
    return connectToLoopback(descriptor, port: port)
  }
}
