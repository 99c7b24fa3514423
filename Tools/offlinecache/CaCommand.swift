import CacheFormat
import CachingProxy
import CommandLineTools

enum CaCommand: ToolCommand {
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
    ], unusedStatuses: [.notFound, .outputClosed], usesGlobalOptions: false)

  private static let showing = Command(
    "show", summary: "Prints the authority's name, fingerprint, name constraints, times and files",
    discussion: ["The state is valid, expired or not yet valid."],
    options: [Declarations.json], usesGlobalOptions: false)

  private static let removing = Command(
    "remove", summary: "Removes the authority; what trusts it has to be undone by hand",
    discussion: ["'offlinecache ca trust --undo' works before and after it."],
    unusedStatuses: [.outputClosed], usesGlobalOptions: false)

  static let declaration = Command(
    "ca", summary: "Makes, shows and removes the authority for serve --intercept",
    subcommands: [creating, showing, TrustCommand.declaration, removing],
    exitStatuses: [(.notFound, "There is no authority")], usesGlobalOptions: false)

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    let files = try AuthorityFiles()
    switch invocation.command {
    case "create": return try create(invocation, files)
    case "show": return try show(invocation, files)
    case "trust": return try TrustCommand.run(invocation, files)
    default: return try remove(files)
    }
  }

  private static func create(
    _ invocation: Invocation, _ files: AuthorityFiles
  ) throws -> ExitStatus {
    if try files.read() != nil {
      throw ToolError(
        subject: files.certificate.path, problem: "it is there already",
        remedy: "remove it first with 'offlinecache ca remove'")
    }
    let user = Argument.environment("USER")?.text ?? "this user"
    guard
      let made = LocalAuthority.make(
        name: "OfflineCache of \(user)", hosts: invocation.all(constraint),
        days: UInt32(invocation.value(of: days)))
    else {
      throw ToolError(
        subject: files.certificate.path, problem: "GnuTLS cannot make the authority",
        remedy: "give fewer or shorter names, or check its installation")
    }
    try files.save(certificate: made.certificate, key: made.key)
    printMessage("offlinecache: made \(files.certificate.path)")
    printMessage("offlinecache: no program trusts it yet; 'offlinecache ca trust' tells how")
    return .success
  }

  private static func show(_ invocation: Invocation, _ files: AuthorityFiles) throws -> ExitStatus {
    guard let authority = try files.read() else { return noAuthority() }
    let members: [(String, String)] = [
      ("name", authority.name), ("sha256", authority.fingerprint.hexadecimal),
      ("state", authority.validity.rawValue),
      ("from", dateText(authority.from)), ("to", dateText(authority.to)),
      ("certificate", files.certificate.path), ("key", files.key.path),
    ]
    if invocation[Declarations.json] {
      let hosts = ("name_constraints", JSONText.array(authority.hosts.map { .string($0) }))
      let object = JSONText.object(members.map { ($0.0, .string($0.1)) } + [hosts])
      try Output.printLines([object.pretty])
    } else {
      var table = TextTable([("", .left), ("", .left)])
      let hosts = authority.hosts.map { "\($0) and below" }.joined(separator: ", ")
      for (name, value) in members + [("vouches for", hosts.isEmpty ? "all hosts" : hosts)] {
        table.add([name, terminalSafe(value)])
      }
      try Output.printLines(table.lines)
    }
    return .success
  }

  private static func remove(_ files: AuthorityFiles) throws -> ExitStatus {
    guard try files.remove() else { return noAuthority() }
    printMessage(
      "offlinecache: removed; what trusts it still has to be undone with 'offlinecache ca trust "
        + "--undo', for a profile or the system with --profile DIR or --system")
    return .success
  }

  /// Says that there is no authority; returns the status for that.
  static func noAuthority() -> ExitStatus {
    printMessage("offlinecache: there is no authority; 'offlinecache ca create' makes one")
    return .notFound
  }
}
