import CachingProxy
import CommandLineTools

/// The files of the authority in the user's folder for program state.
struct AuthorityFiles {
  private static let maximumBytes = 64 << 10
  private static let systemBundles = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
  ]

  let certificate: StateFile
  let key: StateFile
  let bundle: StateFile
  /// The bundle that has the user's own authorities, too.
  let ownBundle: StateFile
  let apt: StateFile

  init() throws {
    do throws(StateFile.Problem) {
      certificate = try StateFile(named: "ca.pem")
      key = try StateFile(named: "ca.key")
      bundle = try StateFile(named: "ca-bundle.pem")
      ownBundle = try StateFile(named: "ca-bundle-own.pem")
      apt = try StateFile(named: "ca-apt.conf")
    } catch { throw Self.failure(error) }
  }

  /// Reads the authority; `nil` if there is none. It may have expired.
  ///
  /// - Throws: ``ToolError`` if a file cannot be used or is missing, or others can read the key.
  func read() throws -> LocalAuthority? {
    do {
      let certificate = try certificate.load(limit: Self.maximumBytes)
      let key = try key.load(limit: Self.maximumBytes, isSecret: true)
      if certificate == nil, key == nil { return nil }
      guard let certificate, let key else {
        throw ToolError(
          subject: certificate == nil ? self.certificate.path : self.key.path,
          problem: "this part of the authority is missing",
          remedy: "remove the rest with 'offlinecache ca remove'; 'ca create' makes another one")
      }
      return try LocalAuthority(certificate: certificate, key: key, path: self.certificate.path)
    } catch let problem as StateFile.Problem {
      throw Self.failure(problem)
    }
  }

  /// Reads the authority.
  ///
  /// - Throws: ``ToolError`` that says how to make one, if there is none that is valid now.
  func require() throws -> LocalAuthority {
    guard let authority = try read() else {
      throw ToolError(
        subject: certificate.path, problem: "there is no authority for https",
        remedy: "make one with 'offlinecache ca create'")
    }
    try check(authority)
    return authority
  }

  func check(_ authority: LocalAuthority) throws {
    switch authority.validity {
    case .valid: return
    case .expired:
      throw ToolError(
        subject: certificate.path, problem: "it has expired on \(dateText(authority.to))",
        remedy: "undo what trusts it ('offlinecache ca trust --undo'), then replace it with "
          + "'offlinecache ca remove' and 'ca create'")
    case .tooEarly:
      throw ToolError(
        subject: certificate.path, problem: "it is not valid before \(dateText(authority.from))",
        remedy: "check the clock of this machine, or replace it with 'offlinecache ca remove' and "
          + "'ca create'")
    }
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
  /// - Parameter own: Files of the user's own, whose authorities are in the bundle, too.
  /// - Returns: the path of the bundle, and whether the authorities of the system were found.
  func saveBundle(with own: [[UInt8]]) throws -> (path: String, hasSystem: Bool) {
    let system = Self.systemBundles.lazy.compactMap { path in
      try? InputFile.bytes(of: Argument(path))
    }.first
    do throws(StateFile.Problem) {
      let authority = try certificate.load(limit: Self.maximumBytes) ?? []
      let own = own.filter { $0 != system }
      let file = own.isEmpty ? bundle : ownBundle
      let all = Array(([system ?? []] + own + [authority]).joined(separator: [0x0A]))
      for (file, bytes) in [(file, all), (apt, Array(aptText(file.path).utf8))]
      where (try? file.load(limit: bytes.count)) != bytes { try file.save(bytes) }
      return (file.path, system != nil)
    } catch { throw Self.failure(error) }
  }

  /// For root, apt fetches as another user, who could not read the bundle.
  private func aptText(_ bundle: String) -> String {
    """
    Acquire::https::CAInfo "\(bundle)";
    APT::Sandbox::User "root";

    """
  }

  private static func failure(_ problem: StateFile.Problem) -> ToolError {
    ToolError(
      subject: "the authority", problem: problem.text,
      remedy: problem.isExposed
        ? "if nobody has read it, run chmod 600, else undo what trusts it, and replace it with "
          + "'offlinecache ca remove' and 'ca create'"
        : problem.lacksFolder
          ? "set one of them" : "check the folder, or set XDG_STATE_HOME to another one")
  }

  /// Removes all files of the authority; returns false if there is neither a key nor a certificate.
  func remove() throws -> Bool {
    do throws(StateFile.Problem) {
      let hadKey = try key.removeIfThere()
      let hadCertificate = try certificate.removeIfThere()
      for file in [bundle, ownBundle, apt] { _ = try file.removeIfThere() }
      return hadKey || hadCertificate
    } catch { throw Self.failure(error) }
  }
}
