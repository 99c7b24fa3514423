package import CacheSystem
public import HTTPSemantics

/// Keeps credentials in a file, **which is not encrypted**: only its mode, 0600, protects it. Whoever
/// can read the user's files, such as root, a backup or somebody with the disk, can read the
/// passwords. On Apple platforms use `KeychainCredentialVault`.
///
/// Several vaults and processes may use one file. A file that is a link, belongs to another user, or
/// is accessible to others is refused, and so is a folder that others may write to. A damaged file
/// is renamed to the same name with `.damaged`, which is an error; after that, the vault is empty.
public struct FileCredentialVault: CredentialVault {
  private let file: CredentialFile
  private let onProblem: @Sendable (CredentialVaultError) -> Void
  /// One thread, so that the file blocks no thread of the cooperative pool.
  private let pool = WorkerPool(threads: 1)

  /// Creates a vault. The file and the missing parts of its folder (mode 0700) are created when they
  /// are needed.
  ///
  /// - Parameters:
  ///   - path: the path of the file; `nil` for `credentials.json` in `offlinecache` below
  ///     `$XDG_STATE_HOME`, or below `~/.local/state` (on Apple platforms
  ///     `~/Library/Application Support`).
  ///   - onProblem: is called for each failure while a request is sent. The request goes on when it
  ///     returns.
  public init(
    path: String? = nil, onProblem: @escaping @Sendable (CredentialVaultError) -> Void
  ) {
    self.init(path: path, files: RealFileSystem(), onProblem: onProblem)
  }

  package init(
    path: String?, files: any FileSystem, lockLimit: Duration = .seconds(30),
    onProblem: @escaping @Sendable (CredentialVaultError) -> Void
  ) {
    file = CredentialFile(
      path: path ?? UserPath.stateFile("credentials.json") ?? "", files: files, limit: lockLimit)
    self.onProblem = onProblem
  }

  /// Returns the credential for a space, or `nil` if there is none.
  ///
  /// - Throws: ``CredentialVaultError`` with `untrusted`, `damaged`, `newerFormat` or `failed`.
  public func credential(
    for space: ProtectionSpace
  ) async throws(CredentialVaultError) -> Credential? {
    try await read { $0[space] }
  }

  /// Returns all credentials for the origin of a URL.
  ///
  /// - Throws: the errors of ``credential(for:)``.
  public func credentials(
    at url: NormalizedURL
  ) async throws(CredentialVaultError) -> [Credential] {
    try await read { $0.credentials(at: url) }
  }

  /// Saves a credential for a space in the place of the one that is there.
  ///
  /// - Throws: the errors of ``credential(for:)``, `failed` also if another process keeps the folder
  ///   locked for 30 seconds; `tooLarge` for more than 4096 credentials or 4 MiB; `noSpace`. The file
  ///   is as before then.
  /// - Durability: after the call it survives loss of power (fsync(2) of file and folder).
  public func save(
    _ credential: Credential, for space: ProtectionSpace
  ) async throws(CredentialVaultError) {
    try await change { $0[space] = credential }
  }

  /// Removes a credential that a server has refused. Another credential for the space stays.
  ///
  /// - Throws: the errors of ``save(_:for:)``.
  public func remove(
    _ credential: Credential, for space: ProtectionSpace
  ) async throws(CredentialVaultError) {
    try await change { if $0[space] == credential { $0[space] = nil } }
  }

  /// Removes the file, in whatever state it is, and a damaged one that was set aside. The blocks on
  /// the disk are not overwritten.
  ///
  /// - Throws: ``CredentialVaultError`` with `untrusted` (of the folder) or `failed`.
  public func removeAll() async throws(CredentialVaultError) {
    try await pool.call { [file] () throws(CredentialVaultError) in try file.remove() }
  }

  /// Calls the closure that the vault was created with.
  public func report(_ error: CredentialVaultError) { onProblem(error) }

  private func read<R: Sendable>(
    _ body: @escaping @Sendable (CredentialDocument) -> R
  ) async throws(CredentialVaultError) -> R {
    try await pool.call { [file] () throws(CredentialVaultError) in try file.read(body) }
  }

  private func change<R: Sendable>(
    _ body: @escaping @Sendable (inout CredentialDocument) -> R
  ) async throws(CredentialVaultError) -> R {
    try await pool.call { [file] () throws(CredentialVaultError) in try file.change(body) }
  }
}
