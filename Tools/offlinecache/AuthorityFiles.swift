import CachingProxy
import CommandLineTools

/// The files of the authority in the user's folder for program state.
struct AuthorityFiles {
  private static let maximumBytes = 64 << 10
  private static let systemBundles = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
  ]

  private let certificate: StateFile
  private let key: StateFile
  private let bundle: StateFile
  private let apt: StateFile

  var certificatePath: String { certificate.path }
  var keyPath: String { key.path }
  var bundlePath: String { bundle.path }
  /// The configuration for apt(8).
  var aptPath: String { apt.path }

  init() throws {
    do throws(StateFile.Problem) {
      certificate = try StateFile(named: "ca.pem")
      key = try StateFile(named: "ca.key")
      bundle = try StateFile(named: "ca-bundle.pem")
      apt = try StateFile(named: "ca-apt.conf")
    } catch { throw Self.failure(error) }
  }

  /// Reads the authority; `nil` if there is none.
  func read() throws -> LocalAuthority? {
    do {
      guard let certificate = try certificate.load(limit: Self.maximumBytes),
        let key = try key.load(limit: Self.maximumBytes)
      else { return nil }
      return try LocalAuthority(certificate: certificate, key: key, path: certificatePath)
    } catch let problem as StateFile.Problem {
      throw Self.failure(problem)
    }
  }

  /// Reads the authority.
  ///
  /// - Throws: ``ToolError`` that says how to make one, if there is none.
  func require() throws -> LocalAuthority {
    guard let authority = try read() else {
      throw ToolError(
        subject: certificatePath, problem: "there is no authority for https",
        remedy: "make one with 'offlinecache ca create'")
    }
    return authority
  }

  /// Writes a new authority. The key is written first: a certificate without a key is of no use.
  func save(certificate: [UInt8], key: [UInt8]) throws {
    do throws(StateFile.Problem) {
      try self.key.save(key)
      try self.certificate.save(certificate)
    } catch { throw Self.failure(error) }
  }

  /// Writes the bundle for variables that replace the authorities of the system, and the file for apt.
  ///
  /// - Returns: whether the authorities of the system were found.
  func saveBundle() throws -> Bool {
    let system = Self.systemBundles.lazy.compactMap { path in
      try? InputFile.bytes(of: Argument(path))
    }.first
    do throws(StateFile.Problem) {
      let own = try certificate.load(limit: Self.maximumBytes) ?? []
      for (file, bytes) in [(bundle, (system ?? []) + own), (apt, Array(aptText.utf8))]
      where (try? file.load(limit: bytes.count)) != bytes { try file.save(bytes) }
    } catch { throw Self.failure(error) }
    return system != nil
  }

  /// For root, apt fetches as another user, who could not read the bundle.
  private var aptText: String {
    """
    Acquire::https::CAInfo "\(bundlePath)";
    APT::Sandbox::User "root";

    """
  }

  private static func failure(_ problem: StateFile.Problem) -> ToolError {
    ToolError(
      subject: "the authority", problem: problem.text,
      remedy: "check the folder, or set XDG_STATE_HOME to another one")
  }

  func remove() {
    for file in [key, certificate, bundle, apt] { file.remove() }
  }
}
