import CacheFormat
import CacheSystem
import CommandLineTools
import StoreMigration

/// The file with the state of an interrupted migration, and a digest of its source and options.
struct ResumePoint: Sendable {
  let file: StateFile
  let subject: String

  /// Finds the state file of a migration.
  ///
  /// - Parameter database: The path of the database of the source.
  /// - Throws: `StateFile.Problem` if the source or the id of the store cannot be read, or there is
  ///   no folder for the file.
  init(_ request: MigrationRequest, database: String) throws(StateFile.Problem) {
    let store = try StateFile.storeID(request.destination)
    guard let source = Self.status(database) else {
      throw StateFile.Problem(text: "\(database) cannot be looked at")
    }
    // Rows keep their numbers as long as nobody writes to the database.
    let log = Self.status(database + "-wal").map { "\($0.length) \($0.modified)" } ?? "none"
    let mappings = request.options.mappings.map { "\($0.old)=\($0.new)" }.joined(separator: " ")
    let text =
      "\(store) \(source.fileNumber) \(source.length) \(source.modified) \(log) "
      + "\(request.options.dropsExpired) \(request.options.ignoresAuthorization) \(mappings)"
    subject = Digest(hashing: Array(text.utf8)).description
    file = try StateFile(named: "migrate-\(store)-\(source.fileNumber)")
  }

  /// Reads the state of an earlier run; returns `nil` if there is none.
  ///
  /// - Throws: `StateFile.Problem` with the reason if the state cannot be used.
  func state() throws(StateFile.Problem) -> ResumeState? {
    guard let bytes = try file.load(limit: ResumeState.maximumBytes) else { return nil }
    guard let state = ResumeState(decoding: bytes) else {
      throw StateFile.Problem(text: "\(file.path) is not as cachemigrate writes it")
    }
    guard state.subject == subject else {
      throw StateFile.Problem(text: "the source or the options have changed since")
    }
    return state
  }

  private static func status(_ path: String) -> FileStatus? {
    try? RealFileSystem().status(userPath: path)
  }
}
