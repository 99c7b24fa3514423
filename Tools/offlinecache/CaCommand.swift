import CacheFormat
import CachingProxy
import CommandLineTools

/// `ca`: the user's own authority, with which `serve --intercept` speaks TLS in the name of servers.
enum CaCommand {
  private static let constraint = Option(
    "name-constraint", .hostName, repeats: true,
    help: "Let the authority vouch for this host and those below it alone")
  private static let days = Option(
    "days", .integer(in: 1...398), default: 365, help: "The days for which it is valid")

  private static let creating = Command(
    "create", summary: "Makes the authority: a key that only this user can read, and a certificate",
    discussion: [
      "Whoever has the key can read and change what programs that trust the authority exchange with "
        + "any https server. It never leaves the state folder, and nothing trusts it until you say "
        + "so ('offlinecache ca trust')."
    ], options: [constraint, days],
    examples: [
      .init(
        "offlinecache ca create --name-constraint example.org",
        "Can be used for example.org and www.example.org alone")
    ], usesGlobalOptions: false)

  private static let showing = Command(
    "show", summary: "Prints the authority's name, fingerprint, times and files",
    options: [Declarations.json], usesGlobalOptions: false)

  private static let trusting = Command(
    "trust", summary: "Prints what makes programs trust the authority, and how to undo it",
    discussion: [
      "The output is for a shell: lines with export make the commands that are started from it "
        + "trust the authority, and the comments tell the same for browsers and the system. Nothing "
        + "but the bundle of authorities in the state folder is changed."
    ],
    examples: [
      .init(
        "eval \"$(offlinecache ca trust)\"",
        "Makes curl, git, pip, Python and node trust it, in this shell")
    ], usesGlobalOptions: false)

  private static let removing = Command(
    "remove", summary: "Removes the authority; what trusts it has to be undone by hand",
    usesGlobalOptions: false)

  static let declaration = Command(
    "ca", summary: "Makes, shows and removes the authority for serve --intercept",
    subcommands: [creating, showing, trusting, removing])

  /// Runs the subcommand with this name.
  static func run(_ invocation: Invocation) throws -> ExitStatus {
    let files = try AuthorityFiles()
    switch invocation.command {
    case "create": return try create(invocation, files)
    case "show": return try show(invocation, files)
    case "trust": return try trust(files)
    default: return remove(files)
    }
  }

  private static func create(
    _ invocation: Invocation, _ files: AuthorityFiles
  ) throws -> ExitStatus {
    if try files.read() != nil {
      throw ToolError(
        subject: files.certificatePath, problem: "it is there already",
        remedy: "remove it first with 'offlinecache ca remove'")
    }
    let user = Argument.environment("USER")?.text ?? "this user"
    guard
      let made = LocalAuthority.make(
        name: "OfflineCache of \(user)", hosts: invocation.all(constraint),
        days: UInt32(invocation.value(of: days)))
    else {
      throw ToolError(
        subject: files.certificatePath, problem: "GnuTLS cannot make the authority",
        remedy: "give fewer or shorter names, or check its installation")
    }
    try files.save(certificate: made.certificate, key: made.key)
    printMessage("offlinecache: made \(files.certificatePath)")
    printMessage("offlinecache: no program trusts it yet; 'offlinecache ca trust' tells how")
    return .success
  }

  private static func show(_ invocation: Invocation, _ files: AuthorityFiles) throws -> ExitStatus {
    guard let authority = try files.read() else { return missing() }
    let members = [
      ("name", authority.name), ("sha256", authority.fingerprint.hexadecimal),
      ("from", dateText(authority.from)), ("to", dateText(authority.to)),
      ("certificate", files.certificatePath), ("key", files.keyPath),
    ]
    let output = Output.standard()
    if invocation[Declarations.json] {
      try output.writeLine(JSONText.object(members.map { ($0.0, .string($0.1)) }).pretty)
    } else {
      var table = TextTable([("", .left), ("", .left)])
      for (name, value) in members { table.add([name, terminalSafe(value)]) }
      for line in table.lines { try output.writeLine(line) }
    }
    try output.flush()
    return .success
  }

  private static func missing() -> ExitStatus {
    printMessage("offlinecache: there is no authority; 'offlinecache ca create' makes one")
    return .notFound
  }

  private static func trust(_ files: AuthorityFiles) throws -> ExitStatus {
    guard try files.read() != nil else { return missing() }
    let hasSystem = try files.saveBundle()
    let (bundle, own) = (quoted(files.bundlePath), quoted(files.certificatePath))
    let output = Output.standard()
    let text = """
      # These variables hold for the commands that are started from this shell. To undo it: unset them.
      \(hasSystem ? "# The bundle has the authorities of the system, and this one." : "# No authorities of the system were found: the bundle has this one alone.")
      export SSL_CERT_FILE=\(bundle)
      export CURL_CA_BUNDLE=\(bundle)
      export REQUESTS_CA_BUNDLE=\(bundle)
      export GIT_SSL_CAINFO=\(bundle)
      export PIP_CERT=\(bundle)
      export NODE_EXTRA_CA_CERTS=\(own)
      # apt: apt -o Acquire::https::CAInfo=\(bundle) update
      # wget: wget --ca-certificate=\(bundle) URL
      # One profile of Firefox or Chromium (certutil is in libnss3-tools; DIR has the file cert9.db):
      #   certutil -d sql:DIR -A -t C,, -n offlinecache -i \(own)
      #   undo: certutil -d sql:DIR -D -n offlinecache
      # All programs of a Debian system (think twice; name constraints help):
      #   sudo cp \(own) /usr/local/share/ca-certificates/offlinecache.crt && sudo update-ca-certificates
      #   undo: sudo rm /usr/local/share/ca-certificates/offlinecache.crt && sudo update-ca-certificates --fresh
      """
    for line in text.split(separator: "\n") { try output.writeLine(String(line)) }
    try output.flush()
    return .success
  }

  private static func quoted(_ path: String) -> String {
    "'\(path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
  }

  private static func remove(_ files: AuthorityFiles) -> ExitStatus {
    files.remove()
    printMessage("offlinecache: removed; undo what 'offlinecache ca trust' told, if you did it")
    return .success
  }
}

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

  var certificatePath: String { certificate.path }
  var keyPath: String { key.path }
  var bundlePath: String { bundle.path }

  init() throws {
    do throws(StateFile.Problem) {
      certificate = try StateFile(named: "ca.pem")
      key = try StateFile(named: "ca.key")
      bundle = try StateFile(named: "ca-bundle.pem")
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

  /// Writes a new authority. The key is written first: a certificate without a key is of no use.
  func save(certificate: [UInt8], key: [UInt8]) throws {
    do throws(StateFile.Problem) {
      try self.key.save(key)
      try self.certificate.save(certificate)
    } catch { throw Self.failure(error) }
  }

  /// Writes the bundle for variables that replace the authorities of the system.
  ///
  /// - Returns: whether the authorities of the system were found.
  func saveBundle() throws -> Bool {
    let system = Self.systemBundles.lazy.compactMap { path in
      try? InputFile.bytes(of: Argument(path))
    }.first
    do throws(StateFile.Problem) {
      let own = try certificate.load(limit: Self.maximumBytes) ?? []
      try bundle.save((system ?? []) + own)
    } catch { throw Self.failure(error) }
    return system != nil
  }

  private static func failure(_ problem: StateFile.Problem) -> ToolError {
    ToolError(
      subject: "the authority", problem: problem.text,
      remedy: "check the folder, or set XDG_STATE_HOME to another one")
  }

  func remove() {
    for file in [key, certificate, bundle] { file.remove() }
  }
}
