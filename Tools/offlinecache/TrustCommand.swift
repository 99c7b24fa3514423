import CLibrary
import CommandLineTools

enum TrustCommand {
  private static let words = Parameter(
    "command", .bytes, .any, help: "After --: a command that is run so that it trusts the authority"
  )
  private static let profile = Option(
    "profile", .path.named("DIR"),
    help: "Make a browser profile trust it: the folder with cert9.db, for Chromium ~/.pki/nssdb")
  private static let system = Flag(
    "system", help: "Make all programs of this Debian system trust it; only for root")
  private static let undo = Flag(
    "undo", help: "Undo it: with --profile or --system, or the variables")

  static let declaration = Command(
    "trust", summary: "Makes one command, browser profile or the system trust the authority",
    discussion: [
      "Without options it prints lines for a shell: those with export make the commands that are "
        + "started from it trust the authority, the comments tell the rest. Nothing but the files of "
        + "the authority in the state folder is changed then.",
      "Where a variable names a file of your own, its authorities stay trusted: the bundle has them, "
        + "those of the system, and this one. The undo restores your value.",
      "The undo needs no authority, so it also works after 'ca remove'. Programs with the "
        + "variables fail in between: their files are gone.",
    ],
    parameters: [words], options: [profile, system, undo],
    examples: [
      .init(
        "eval \"$(offlinecache ca trust)\"",
        "Makes curl, git, pip, Python, node and apt trust it, in this shell"),
      .init("eval \"$(offlinecache ca trust --undo)\"", "Undoes that"),
      .init("offlinecache ca trust -- git fetch", "Makes this one command trust it"),
      .init("offlinecache ca trust --profile ~/.pki/nssdb", "Makes the user's Chromium trust it"),
    ],
    exitStatuses: [(.notFound, "There is no authority, or the profile does not trust it (--undo)")],
    usesGlobalOptions: false)

  static func run(_ invocation: Invocation, _ files: AuthorityFiles) throws -> ExitStatus {
    let command = invocation[words]
    let ways = [invocation[profile] != nil, invocation[system], !command.isEmpty]
    guard ways.count(where: { $0 }) < 2, command.isEmpty || !invocation[undo] else {
      throw invocation.usageError(
        "it is not clear what is to trust the authority",
        remedy: "give one of --profile, --system and a command, and --undo only without a command")
    }
    if !invocation[undo] {
      guard let authority = try files.read() else { return CaCommand.noAuthority() }
      try files.check(authority)
    }
    if let folder = invocation[profile] {
      return try change(folder, invocation[undo], files)
    } else if invocation[system] {
      try SystemTrust.change(files.certificate.path, undoes: invocation[undo])
    } else if invocation[undo] {
      try Output.printLines(TrustVariables.undo(files))
    } else if command.isEmpty {
      try Output.printLines(explanation(files))
    } else {
      try become(command, files)
    }
    return .success
  }

  private static func change(
    _ folder: Argument, _ undoes: Bool, _ files: AuthorityFiles
  ) throws -> ExitStatus {
    guard let path = folder.text, unsafe access("\(path)/cert9.db", F_OK) == 0 else {
      throw ToolError(
        subject: folder.description, problem: "is not a browser profile: it has no file cert9.db",
        remedy: "name the profile's folder, for Chromium ~/.pki/nssdb, and start the browser once")
    }
    let database = try CertificateDatabase(in: path)
    if undoes {
      guard try database.distrust() else {
        printMessage("offlinecache: \(folder) does not trust an authority of offlinecache")
        return .notFound
      }
      printMessage("offlinecache: \(folder) does not trust the authority any more")
    } else {
      try database.trust(files.certificate.path)
      printMessage("offlinecache: \(folder) trusts the authority; --undo undoes it")
    }
    return .success
  }

  private static func become(_ command: [Argument], _ files: AuthorityFiles) throws -> Never {
    let name = command[0]
    guard let path = name.text.flatMap(ProgramRun.find) else {
      throw ToolError(
        subject: name.description, problem: "there is no such command", remedy: "check its name")
    }
    let variables = try TrustVariables(files).all.map { ($0.name, Optional($0.value)) }
    try ProgramRun.become(
      path, Array(command.dropFirst()),
      environment: ProgramRun.environment(Dictionary(uniqueKeysWithValues: variables)))
  }

  private static func explanation(_ files: AuthorityFiles) throws -> [String] {
    let variables = try TrustVariables(files)
    let bundle = quoted(variables.bundle)
    let names = variables.own.map(\.name).joined(separator: ", ")
    return [
      "# These variables hold for the commands that are started from this shell.",
      "# Undo: eval \"$(offlinecache ca trust --undo)\"",
      variables.hasSystem
        ? "# The bundle has the authorities of the system, and this one."
        : "# No authorities of the system were found: the bundle has this one without them.",
    ] + (names.isEmpty ? [] : ["# It also has those of your \(names)."])
      + (variables.own.map { (TrustVariables.saved + $0.name, $0.value) } + variables.all)
      .map { "export \($0)=\(quoted($1))" } + [
        "# For one command: offlinecache ca trust -- COMMAND",
        "# wget: wget --ca-certificate=\(bundle) URL",
        "# One profile of Firefox, or Chromium's ~/.pki/nssdb (certutil is in libnss3-tools):",
        "#   offlinecache ca trust --profile DIR          # undo: offlinecache ca trust --undo --profile DIR",
        "# All programs of a Debian system, for root (think twice; name constraints help):",
        "#   offlinecache ca trust --system               # undo: offlinecache ca trust --undo --system",
      ]
  }

  static func quoted(_ path: String) -> String {
    "'\(path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
  }
}

/// The variables that make programs trust the authority.
struct TrustVariables {
  /// The variables that name the bundle, in which the authorities of the system are, too.
  private static let ofBundle = [
    "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
  ]
  /// Variables that add to what the program trusts: the certificate, and the file for apt.
  private static let (own, apt) = ("NODE_EXTRA_CA_CERTS", "APT_CONFIG")

  /// The beginning of the names of variables that keep the user's values for the undo.
  static let saved = "OFFLINECACHE_OLD_"

  /// The variables that name files of the user's own, and these files.
  let own: [(name: String, value: String)]
  let bundle: String
  let hasSystem: Bool
  private let files: AuthorityFiles

  /// Writes the bundle. A file of the user's own that cannot be read is reported, and left out.
  init(_ files: AuthorityFiles) throws {
    self.files = files
    var own: [(name: String, value: String)] = []
    var contents: [String: [UInt8]] = [:]
    for name in Self.ofBundle + [Self.own] {
      let present = Argument.environment(name)?.text
      let isOurs = present.map { Self.isOurs($0, files) } ?? false
      guard let value = isOurs ? Argument.environment(Self.saved + name)?.text : present,
        !value.isEmpty
      else { continue }
      if contents[value] == nil {
        do { contents[value] = try InputFile.bytes(of: Argument(value)) } catch {
          printMessage(
            "offlinecache: \(name): \(terminalSafe(value)) cannot be read; its authorities are left out"
          )
          continue
        }
      }
      own.append((name, value))
    }
    self.own = own
    (bundle, hasSystem) = try files.saveBundle(
      with: contents.sorted { $0.key < $1.key }.map(\.value))
  }

  /// The variables with their values. A file of the user's own for apt is left alone.
  var all: [(name: String, value: String)] {
    // The bundle has what the user adds for node, too.
    let added = own.contains { $0.name == Self.own } ? bundle : files.certificate.path
    var all = Self.ofBundle.map { (name: $0, value: bundle) } + [(Self.own, added)]
    let user = Argument.environment(Self.apt)?.text
    if user == nil || user == files.apt.path { all.append((Self.apt, files.apt.path)) }
    return all
  }

  /// Returns the lines for a shell that restore the user's values. Values that are not ours stay.
  static func undo(_ files: AuthorityFiles) -> [String] {
    let names = (ofBundle + [own, apt]).filter { name in
      Argument.environment(name)?.text.map { isOurs($0, files) } ?? true
    }
    let kept = names.filter { Argument.environment(saved + $0) != nil }
    let restored = kept.compactMap { name in
      Argument.environment(saved + name)?.text.map { "export \(name)=\(TrustCommand.quoted($0))" }
    }
    let unset = names.filter { !kept.contains($0) } + kept.map { saved + $0 }
    return restored + (unset.isEmpty ? [] : ["unset \(unset.joined(separator: " "))"])
  }

  private static func isOurs(_ path: String, _ files: AuthorityFiles) -> Bool {
    [files.bundle.path, files.ownBundle.path, files.certificate.path, files.apt.path].contains(path)
  }
}

/// What all programs of a Debian system trust.
enum SystemTrust {
  private static let folder = "/usr/local/share/ca-certificates"
  private static let path = "\(folder)/offlinecache.crt"

  static func change(_ certificate: String, undoes: Bool) throws {
    guard let update = ProgramRun.find("update-ca-certificates"), unsafe access(folder, F_OK) == 0
    else {
      throw ToolError(
        subject: folder, problem: "this is not a Debian system with ca-certificates",
        remedy: "add \(certificate) with this system's own tools")
    }
    guard geteuid() == 0 else {
      throw ToolError(
        subject: path, problem: "only root can change what the system trusts",
        remedy: "run: sudo \(commands(certificate, undoes: undoes))")
    }
    if undoes {
      _ = unsafe unlink(path)
    } else {
      let file = try OutputFile(Argument(path))
      try file.write(try InputFile.bytes(of: Argument(certificate)))
      try file.finish()
      _ = unsafe chmod(path, 0o644)
    }
    // Without --fresh, the link of a certificate that is gone would stay.
    let status = try undoes ? ProgramRun.run(update, "--fresh") : ProgramRun.run(update)
    guard status == 0 else {
      throw ToolError(
        subject: update, problem: "has failed with status \(status)",
        remedy: "see its messages above")
    }
  }

  private static func commands(_ certificate: String, undoes: Bool) -> String {
    undoes
      ? "sh -c 'rm \(path) && update-ca-certificates --fresh'"
      : "sh -c 'cp \(certificate) \(path) && chmod 644 \(path) && update-ca-certificates'"
  }
}
