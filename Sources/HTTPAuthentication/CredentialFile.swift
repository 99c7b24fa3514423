import CacheFormat
import CacheSystem

/// Reads and replaces the file of a ``FileCredentialVault``. Its calls block.
///
/// What changes it holds the lock (flock(2)) of the folder, so no change of another process is lost.
/// Readers need no lock, because the file is replaced as a whole.
struct CredentialFile: Sendable {
  let path: String
  let files: any FileSystem
  /// The longest wait for the lock.
  let limit: Duration

  private struct Names {
    let file: PathName
    let next: PathName
    /// A damaged file that was set aside.
    let damaged: PathName
  }

  /// Calls `body` with the content of the file.
  func read<R>(_ body: (CredentialDocument) -> R) throws(CredentialVaultError) -> R {
    let found = try inFolder { (folder, names) throws(CredentialVaultError) in
      try document(names, folder, isLocked: false)
    }
    if let found { return body(found) }
    // It is damaged, or was replaced just now.
    return try change { body($0) }
  }

  /// Reads the file, calls `body`, and replaces the file if `body` has changed the content.
  func change<R>(
    _ body: (inout CredentialDocument) -> R
  ) throws(CredentialVaultError) -> R {
    try inLockedFolder { (folder, names) throws(CredentialVaultError) in
      let old = try document(names, folder, isLocked: true) ?? CredentialDocument()
      var new = old
      let result = body(&new)
      if new != old { try write(new, names, folder) }
      return result
    }
  }

  func remove() throws(CredentialVaultError) {
    try inLockedFolder { (folder, names) throws(CredentialVaultError) in
      try system { () throws(SystemError) in
        for name in [names.file, names.next, names.damaged] {
          do throws(SystemError) {
            try files.removeFile(name, in: folder.raw)
          } catch  where error == .notFound {}
        }
        try files.synchronize(folder, names: true)
      }
    }
  }

  private func inFolder<R>(
    _ body: (borrowing Descriptor, Names) throws(CredentialVaultError) -> R
  ) throws(CredentialVaultError) -> R {
    guard !path.isEmpty else {
      throw CredentialVaultError(
        .failed, path: "credentials.json", cause: "neither XDG_STATE_HOME nor HOME names a folder",
        remedy: "set one of them, or give the vault a path")
    }
    let (place, last) = UserPath.split(path)
    func name(_ suffix: String) -> PathName? {
      last.isEmpty ? nil : PathName(bytes: (last + suffix).utf8)
    }
    guard let file = name(""), let next = name(".next"), let damaged = name(".damaged") else {
      throw failure(.failed, "it names no file", "give a name of up to 240 bytes")
    }
    files.makeFolders(place)
    let folder = try system { () throws(SystemError) in
      try files.open(userPath: place, [.read, .directory])
    }
    let status = try system { () throws(SystemError) in try files.status(of: folder.raw) }
    guard status.isOwn, status.mode & 0o022 == 0 else {
      throw failure(
        .untrusted, "its folder belongs to another user, or others may write to it",
        "choose another folder, or run chmod go-w on it")
    }
    return try body(folder, Names(file: file, next: next, damaged: damaged))
  }

  private func inLockedFolder<R>(
    _ body: (borrowing Descriptor, Names) throws(CredentialVaultError) -> R
  ) throws(CredentialVaultError) -> R {
    try inFolder { (folder, names) throws(CredentialVaultError) in
      let isLocked = try system { () throws(SystemError) in
        try files.lock(folder, within: limit)
      }
      guard isLocked else {
        throw failure(
          .failed, "another process has kept its folder locked for \(limit)",
          "find that process with fuser on the folder, and end it")
      }
      defer { files.unlock(folder.raw) }
      return try body(folder, names)
    }
  }

  /// Reads the file. Without the lock, `nil` for one that has to be read again with it.
  private func document(
    _ names: Names, _ folder: borrowing Descriptor, isLocked: Bool
  ) throws(CredentialVaultError) -> CredentialDocument? {
    var status: FileStatus?
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try files.readFile(
        names.file, in: folder, limit: CredentialDocument.maximumBytes, &status)
    } catch  where error == .notFound {
      return CredentialDocument()
    } catch  where error == .tooLarge {
      if let status { try check(status) }
      guard isLocked else { return nil }
      throw setAside(names, folder, FormatError.Code.tooLarge)
    } catch {
      throw failure(error)
    }
    // It was replaced after it was opened.
    if !isLocked, status?.linkCount == 0 { return nil }
    if let status { try check(status) }
    do throws(FormatError) {
      return try CredentialDocument(decoding: bytes)
    } catch  where error.code == .newerFormat {
      throw failure(
        .newerFormat, "a newer version of this library wrote it",
        "use that version, or another file")
    } catch {
      guard isLocked else { return nil }
      throw setAside(names, folder, error.code)
    }
  }

  /// Refuses a file that others may have read or planted.
  private func check(_ status: FileStatus) throws(CredentialVaultError) {
    if !status.isOwn {
      throw failure(.untrusted, "it belongs to user \(status.owner)", "move it away")
    }
    if status.linkCount != 1 {
      throw failure(
        .untrusted, "it has \(status.linkCount) names, one of which may be another user's",
        "move it away, and change the passwords in it")
    }
    if status.mode & 0o077 != 0 {
      throw failure(
        .untrusted, "others may use it (mode \(String(status.mode, radix: 8)))",
        "if nobody has read it, run chmod 600, else remove it, and change the passwords in it")
    }
  }

  /// Renames a damaged file, in place of an earlier one, and returns the error.
  private func setAside(
    _ names: Names, _ folder: borrowing Descriptor, _ code: FormatError.Code
  ) -> CredentialVaultError {
    do throws(SystemError) {
      try files.rename(names.file, in: folder.raw, to: names.damaged, in: folder.raw)
    } catch {
      return failure(
        .damaged, "the file is damaged (\(code)), and cannot be renamed (\(error))",
        "move it away, and log in again")
    }
    return failure(
      .damaged, "the file was damaged (\(code)), and is \(path).damaged now",
      "log in again, and remove that file, which may contain passwords")
  }

  /// Replaces the file by a rename, so that it is never incomplete.
  private func write(
    _ document: CredentialDocument, _ names: Names, _ folder: borrowing Descriptor
  ) throws(CredentialVaultError) {
    let bytes: [UInt8]
    do throws(FormatError) {
      bytes = try document.encoded()
    } catch {
      throw failure(.tooLarge, error.detail, "remove some, or use another file")
    }
    try system { () throws(SystemError) in
      try files.replace(names.file, in: folder, with: bytes, through: names.next, synced: true)
      try files.synchronize(folder, names: true)
    }
  }

  private func system<R: ~Copyable>(
    _ body: () throws(SystemError) -> R
  ) throws(CredentialVaultError) -> R {
    do throws(SystemError) { return try body() } catch { throw failure(error) }
  }

  private func failure(_ error: SystemError) -> CredentialVaultError {
    if error.isWrongKind {
      return failure(.untrusted, "it is a link, or no plain file", "move it away")
    }
    if error.isNoSpace {
      return failure(.noSpace, "it cannot be written (\(error))", "free some space")
    }
    return failure(.failed, "it cannot be used (\(error))", "check its folder and its rights")
  }

  private func failure(
    _ code: CredentialVaultError.Code, _ cause: String, _ remedy: String
  ) -> CredentialVaultError {
    CredentialVaultError(code, path: path, cause: cause, remedy: remedy)
  }
}
