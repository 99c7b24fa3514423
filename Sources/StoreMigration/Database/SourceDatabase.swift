internal import CacheSystem

/// The database of a source, opened without altering it. The format readers read from it.
final class SourceDatabase {
  /// The path that the user gave, or that of the file found in it.
  let path: String
  let database: Database
  let folder: TemporaryFolder
  /// The files of the source, as the rows are read from them.
  let files: DatabaseFiles
  let log: WriteAheadLog
  private let isCutOff: Bool

  /// Copies and opens a database, lets SQLite recover it, and checks all its pages.
  ///
  /// - Throws: All cases of ``SourceError/Cause`` except those about formats.
  /// - Complexity: O(size of the file), in bounded memory.
  init(
    path: String, temporary place: String, copyLimit: UInt64, stop: MigrationStop = MigrationStop()
  ) throws(SourceError) {
    self.path = path
    do throws(SystemError) {
      folder = try TemporaryFolder(in: place)
    } catch { throw SourceError(.copy, place, error.description) }
    let copy = try PrivateCopy(of: path, into: folder, copyLimit: copyLimit, stop: stop)
    files = copy.files
    log = WriteAheadLog(of: path, copy.header)
    isCutOff = copy.header.isCutOff
    // SQLite reads missing parts of a page as zeros, and a check of the pages does not detect them.
    if isCutOff, !copy.files.hasLoggedPages { throw SourceError(.truncated, path) }
    do throws(DatabaseError) {
      database = try Database(path: copy.path, copy.isInPlace ? .read : .recover, stop: stop)
      // The first access recovers. After that nothing is written, and in place a shared lock is
      // held.
      _ = try database.prepare("SELECT count(*) FROM sqlite_master").first()
      try database.execute("PRAGMA query_only=ON; BEGIN")
      try Self.checkPages(database)
    } catch { throw Self.error(error, path, isCutOff: isCutOff) }
  }

  var isEmpty: Bool {
    (try? database.prepare("SELECT count(*) FROM sqlite_master").first()?[0].integer) == 0
  }

  func error(_ error: DatabaseError) -> SourceError {
    Self.error(error, path, isCutOff: isCutOff)
  }

  /// Returns the names of a table's columns in lower case, or `nil` if there is no such table.
  /// Views and virtual tables are not tables here, because they may run any code.
  func columns(of table: String) throws(SourceError) -> Set<String>? {
    do throws(DatabaseError) {
      let found = try database.prepare(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?")
      guard try found.first([.text(Array(table.utf8))]) != nil else { return nil }
      let names = try database.prepare("SELECT name FROM pragma_table_info(?)")
      names.restart([.text(Array(table.utf8))])
      var columns: Set<String> = []
      while try names.step() {
        if let name = try names.value(0).string { columns.insert(name.lowercased()) }
      }
      return columns
    } catch { throw self.error(error) }
  }

  /// Returns the columns of a table that must have some.
  func columns(of table: String, needing needed: [String]) throws(SourceError) -> Set<String> {
    let columns = try columns(of: table) ?? []
    let missing = needed.filter { !columns.contains($0.lowercased()) }
    guard missing.isEmpty else {
      throw SourceError(.missingColumns, path, "\(table) lacks \(missing.joined(separator: ", "))")
    }
    return columns
  }

  /// Checks all pages before any row is read: damage may be in the last page of a body, which no
  /// other page depends on. Rows that violate a constraint are not damage.
  private static func checkPages(_ database: Database) throws(DatabaseError) {
    let check = try database.prepare("PRAGMA quick_check(100)")
    check.restart()
    while try check.step() {
      if let message = try check.value(0).string, message.hasPrefix("*** in database") {
        throw DatabaseError.damage(message)
      }
    }
  }

  private static func error(_ error: DatabaseError, _ path: String, isCutOff: Bool) -> SourceError {
    let cause = error.cause == .corrupt && isCutOff ? .truncated : error.cause
    return SourceError(cause, path, error.message)
  }
}
