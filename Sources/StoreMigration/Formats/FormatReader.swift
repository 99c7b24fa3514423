/// Reads the rows of one format.
///
/// A reader is made for a database that has the format's main table. Row numbers are SQLite's rowids.
protocol FormatReader {
  /// The main table: one row of it is one row of the source.
  static var table: String { get }

  /// Finds the columns.
  init(_ source: SourceDatabase) throws(SourceError)

  /// Selects what `key` and `entry` need of the row `?1`.
  var query: String { get }

  /// Selects number, key text and recency of all rows from `?1` on, by rising number; nil where the
  /// format has no two rows with one key. Of two rows the one with the higher recency is newer, and
  /// with the same the one with the higher number.
  var order: String? { get }

  /// Gives the key of a row for reports.
  func key(of values: [DatabaseValue]) -> String

  /// Gives method and URL that a key text stands for.
  func identity(ofKey text: String) -> (method: String, url: String)

  /// Makes the entry of a row, all but its body's bytes.
  func entry(row: Int64, _ values: [DatabaseValue]) throws(RowError) -> SourceEntry

  /// Where bodies that are values and bodies that are files come from.
  var bodies: BodyPlaces { get }
}

extension FormatReader {
  var order: String? { nil }

  func identity(ofKey text: String) -> (method: String, url: String) { ("GET", text) }

  func key(of values: [DatabaseValue]) -> String { values.first?.string ?? "" }
}
