/// The column with the bodies that are in the database.
final class BodyValues {
  private let database: Database
  private let table: String
  private let column: String
  private var blob: DatabaseBlob?

  init(_ database: Database, table: String, column: String) {
    self.database = database
    self.table = table
    self.column = column
  }

  /// Moves to the body of a row, which is a text or a blob.
  func open(_ row: Int64) throws(DatabaseError) -> DatabaseBlob {
    if let blob {
      self.blob = nil
      try blob.move(to: row)
      self.blob = blob
      return blob
    }
    let opened = try database.openBlob(table, column, row: row)
    blob = opened
    return opened
  }
}
