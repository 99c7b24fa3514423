@testable import StoreMigration

// Databases that are made without another program, so that any value can be in them.
extension SourceSandbox {
  /// Makes a database, and inserts rows into one of its tables.
  func makeDatabase(
    _ name: String, _ sql: String, into table: String = "", _ rows: [[DatabaseValue]] = []
  ) throws -> String {
    let path = "\(path)/\(name)"
    let database = try Database(path: path, .create)
    try database.execute(sql)
    for values in rows { try database.insert(values, into: table) }
    return path
  }

  /// Opens a database as a source.
  func open(_ path: String) throws(SourceError) -> SourceDatabase {
    try SourceDatabase(path: path, temporary: copies, copyLimit: 1 << 30)
  }

  /// Reads the rows of a source.
  func rows(_ path: String) throws(SourceError) -> [SourceRow] {
    try SourceCache(path: path, temporaryFolder: copies).allRows()
  }
}

extension Database {
  func insert(_ values: [DatabaseValue], into table: String) throws(DatabaseError) {
    let marks = values.map { _ in "?" }.joined(separator: ", ")
    let insertion = try prepare("INSERT INTO \(table) VALUES(\(marks))")
    insertion.restart(values)
    _ = try insertion.step()
  }
}

extension DatabaseValue {
  static func text(_ text: String) -> DatabaseValue { .text(Array(text.utf8)) }
}

extension SourceRow {
  /// The entry, if there is one.
  var entry: SourceEntry? {
    if case .entry(let entry) = outcome { entry } else { nil }
  }
}
