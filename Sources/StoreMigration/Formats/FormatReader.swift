/// A reader for the rows of one format.
///
/// A reader is created for a database that has the format's main table. Row numbers are SQLite's
/// rowids.
protocol FormatReader {
  /// The main table: one row of it is one row of the source.
  static var table: String { get }

  init(_ source: SourceDatabase) throws(SourceError)

  /// The query for the columns of the row `?1` that `key` and `entry` need.
  var query: String { get }

  /// The query for number, key text and recency of all rows from `?1` on, by ascending number;
  /// `nil` if keys are unique in the format. Of two rows the one with the higher recency is newer;
  /// if it is the same, the one with the higher number.
  var order: String? { get }

  func key(of values: [DatabaseValue]) -> String

  func identity(ofKey text: String) -> (method: String, url: String)

  /// Returns the entry of a row, without the bytes of its body.
  func entry(row: Int64, _ values: [DatabaseValue]) throws(RowError) -> SourceEntry

  /// The places of the bodies, which may be values and files.
  var bodies: BodyPlaces { get }
}

extension FormatReader {
  var order: String? { nil }

  func identity(ofKey text: String) -> (method: String, url: String) { ("GET", text) }

  func key(of values: [DatabaseValue]) -> String { values.first?.string ?? "" }
}
