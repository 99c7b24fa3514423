import CommandLineTools

/// The list of trusted authorities of a browser profile: a database of NSS, which certutil(1)
/// changes.
struct CertificateDatabase {
  private static let nickname = "offlinecache"
  /// The most certificates that are removed at once.
  private static let maximumCertificates = 1_000

  private let folder: String
  private let certutil: String

  /// Opens the database in a folder. Nothing is read yet.
  ///
  /// - Throws: ``ToolError`` if certutil is not installed.
  init(in folder: String) throws {
    guard let found = ProgramRun.find("certutil") else {
      throw ToolError(
        subject: "certutil",
        problem: "is not installed; without it no browser profile can be told what to trust",
        remedy: "install it (on Debian: libnss3-tools, elsewhere nss-tools or nss)")
    }
    certutil = found
    self.folder = folder
  }

  /// Makes an empty database, in a folder that must be there.
  func create() throws {
    try run("-N", "--empty-password")
  }

  /// Makes the profile trust an authority for servers.
  ///
  /// - Parameter certificate: The path of its certificate.
  func trust(_ certificate: String) throws {
    try run("-A", "-t", "C,,", "-n", Self.nickname, "-i", certificate)
  }

  /// Undoes ``trust(_:)``: removes all authorities that were ever added, and not only the last one.
  ///
  /// - Returns: false if there was none.
  func distrust() throws -> Bool {
    // Tells apart a database that cannot be read from one without such a certificate.
    try run("-L", discarded: [1])
    var count = 0
    while count < Self.maximumCertificates, try status(["-L", "-n", Self.nickname], [1, 2]) == 0 {
      try run("-D", "-n", Self.nickname)
      count += 1
    }
    return count > 0
  }

  /// Runs certutil; returns its status.
  private func status(_ arguments: [String], _ discarded: [Int32]) throws -> Int32 {
    let words = (["-d", "sql:\(folder)"] + arguments).map { Argument($0) }
    return try ProgramRun(certutil, words, discarded: discarded).wait()
  }

  private func run(_ arguments: String..., discarded: [Int32] = []) throws {
    let status = try status(arguments, discarded)
    guard status == 0 else {
      throw ToolError(
        subject: folder,
        problem: "certutil could not change what this profile trusts (status \(status))",
        remedy: "see its message above; end the browser first if it uses the profile")
    }
  }
}
