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
  /// - Parameters:
  ///   - request: The command line.
  ///   - source: The files of the source when it was opened.
  ///   - format: The format of the source, of which the command line need not say anything.
  /// - Throws: `StateFile.Problem` if the id of the store cannot be read, or there is no folder for
  ///   the file.
  init(
    _ request: MigrationRequest, _ source: DatabaseFiles, _ format: SourceFormat
  ) throws(StateFile.Problem) {
    let store = try StateFile.storeID(request.destination)
    // Rows keep their numbers as long as nobody writes to the database.
    let files = [source.main, source.log, source.journal]
      .map { $0.map { "\($0.length) \($0.modified)" } ?? "none" }.joined(separator: " ")
    let mappings = request.options.mappings.map { "\($0.old)=\($0.new)" }.joined(separator: " ")
    let text =
      "\(store) \(source.main.fileNumber) \(files) \(format.rawValue) "
      + "\(request.options.dropsExpired) \(request.options.ignoresAuthorization) \(mappings)"
    subject = Digest(hashing: Array(text.utf8)).description
    file = try StateFile(named: "migrate-\(store)-\(source.main.fileNumber)")
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
}
