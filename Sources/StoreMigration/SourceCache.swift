internal import CacheFormat

/// A cache in an SQLite database that is the source of a migration. It returns its rows one after
/// the other.
///
/// The source is only read. Memory is bounded: it does not depend on the number of rows or the
/// length of a body, only on the 16 MiB that an archive may have. Only one thread at a time may use
/// it.
package final class SourceCache {
  /// The length in bytes from which a database is read in place if that is safe, instead of being
  /// copied.
  package static let usualCopyLimit: UInt64 = 256 << 20

  package let format: SourceFormat

  package let path: String

  package let rowCount: Int64

  /// The reasons why rows may be missing although there is no error, as text.
  package let warnings: [String]

  /// The files of the database, as the rows are read from them.
  package var files: DatabaseFiles { source.files }

  let source: SourceDatabase
  private let reader: any FormatReader
  private let next: Statement
  private let read: Statement
  private let newest: NewestRows?
  private var last: Int64?

  /// Opens the cache at a path.
  ///
  /// - Parameters:
  ///   - path: The database, or the folder with it.
  ///   - format: The format that it must have, or `nil` for any.
  ///   - temporaryFolder: An existing folder with room for a copy of the database. Copies that a
  ///     killed process has left there are removed.
  ///   - copyLimit: See ``usualCopyLimit``.
  /// - Throws: ``SourceError`` if there is no cache, or it cannot be read.
  /// - Complexity: O(size of the database).
  package convenience init(
    path: String, format: SourceFormat? = nil, temporaryFolder: String,
    copyLimit: UInt64 = SourceCache.usualCopyLimit, stop: MigrationStop = MigrationStop()
  ) throws(SourceError) {
    let candidates = try SourceLocation.databases(at: path)
    var found: [(SourceDatabase, SourceFormat)] = []
    var failures: [(path: String, error: SourceError)] = []
    var others: [SourceFormat] = []
    var hint = candidates.count == 1 ? "" : "\(candidates.count) databases"
    for candidate in candidates {
      do throws(SourceError) {
        let source = try SourceDatabase(
          path: candidate, temporary: temporaryFolder, copyLimit: copyLimit, stop: stop)
        if let format = try source.format(among: format.map { [$0] } ?? SourceFormat.allCases) {
          found.append((source, format))
        } else if let other = try source.format(among: SourceFormat.allCases) {
          others.append(other)
        } else if candidates.count == 1, source.isEmpty {
          hint = source.log.warnings(isEmpty: true).first ?? ""
        }
      } catch  where error.cause == .cancelled { throw error } catch {
        failures.append((candidate, error))
      }
    }
    guard let (source, format) = found.first else {
      if let other = others.first { throw SourceError(.otherFormat, path, other.rawValue) }
      throw failures.last?.error ?? SourceError(.unknownSchema, path, hint)
    }
    // One that cannot be read may be the right one.
    guard found.count + failures.count == 1 else {
      let paths = found.map(\.0.path) + failures.map { "\($0.path) (\($0.error))" }
      throw SourceError(.ambiguous, path, paths.joined(separator: ", "))
    }
    try self.init(source, format, stop)
  }

  private init(
    _ source: SourceDatabase, _ format: SourceFormat, _ stop: MigrationStop
  ) throws(SourceError) {
    self.source = source
    self.format = format
    path = source.path
    let type = format.reader
    let reader = try type.init(source)
    self.reader = reader
    do throws(DatabaseError) {
      let database = source.database
      let count = try database.prepare("SELECT count(*) FROM \(type.table)")
      let rows = try count.first()?[0].integer ?? 0
      rowCount = rows
      warnings = source.log.warnings(isEmpty: rows == 0)
      let next = try database.prepare(
        "SELECT rowid FROM \(type.table) WHERE rowid >= ?1 ORDER BY rowid LIMIT 1")
      self.next = next
      read = try database.prepare(reader.query)
      newest = try reader.order.map { order throws(DatabaseError) in
        let newest = try NewestRows(in: source.folder, stop: stop)
        try Self.fill(newest, order, reader, next, source)
        return newest
      }
    } catch { throw source.error(error) }
  }

  /// Returns the next row, or `nil` at the end.
  ///
  /// - Throws: ``SourceError`` if the source fails. The rows returned before are complete.
  package func nextRow() throws(SourceError) -> SourceRow? {
    do throws(DatabaseError) {
      guard let row = try Self.following(last, next) else { return nil }
      last = row
      return try examine(row)
    } catch { throw source.error(error) }
  }

  /// Continues after a row, whether it exists or not, or with `nil` at the first row. Rows that are
  /// returned again are the same.
  package func startAfter(_ row: Int64?) { last = row }

  /// Opens the body of an entry of this cache.
  ///
  /// Rows may be read meanwhile. Of the bodies in the database only the one opened last can be
  /// read.
  package func openBody(_ body: SourceBody) throws(SourceError) -> SourceBodyReader {
    try SourceBodyReader(body, reader.bodies, source)
  }

  private static func following(_ row: Int64?, _ next: Statement) throws(DatabaseError) -> Int64? {
    guard row != .max else { return nil }
    let start = row.map { $0 + 1 } ?? .min
    guard let found = try next.first([.integer(start)]) else { return nil }
    // In a hostile database, a column may be named rowid; the rows would never end.
    guard let number = found[0].integer, number >= start else {
      throw .damage("the rows have no numbers")
    }
    return number
  }

  private func examine(_ row: Int64) throws(DatabaseError) -> SourceRow {
    var key = ""
    do throws(RowError) {
      let values = try values(row)
      key = reader.key(of: values)
      let entry = try reader.entry(row: row, values)
      let outcome: SourceRow.Outcome =
        try isSuperseded(entry, row) ? .skipped(.duplicateKeySuperseded, detail: "") : .entry(entry)
      return SourceRow(row: row, key: Self.shown(key), outcome: outcome)
    } catch {
      switch error {
      case .database(let failure): throw failure
      case .skip(let reason, let detail):
        return SourceRow(row: row, key: Self.shown(key), outcome: .skipped(reason, detail: detail))
      }
    }
  }

  private static func shown(_ key: String) -> String {
    key.utf8.count <= 2_048 ? key : String(decoding: key.utf8.prefix(2_048), as: UTF8.self)
  }

  private func values(_ row: Int64) throws(RowError) -> [DatabaseValue] {
    do throws(DatabaseError) {
      // In a damaged database a row that was found by its order may have no place by its number.
      guard let values = try read.first([.integer(row)]) else {
        throw .damage("row \(row) cannot be found")
      }
      return values
    } catch {
      throw error.isTooLarge ? RowError.skip(.tooLarge, "a value of the row") : .database(error)
    }
  }
}

// Selects one of several rows with the same key.
extension SourceCache {
  /// Returns whether a newer row of the same key gives an entry. A row that gives none is read once
  /// and then removed from the list.
  private func isSuperseded(_ entry: SourceEntry, _ row: Int64) throws(RowError) -> Bool {
    guard let newest else { return false }
    let key = Self.key(entry.method, entry.url)
    var index = 0
    do throws(DatabaseError) {
      while let other = try newest.row(index, key: key), other.number != row {
        if let found = try self.entry(other.number) {
          if Self.key(found.method, found.url) == key { return true }
          index += 1
        } else {
          try newest.remove(other, key: key)
        }
      }
      return false
    } catch { throw .database(error) }
  }

  private func entry(_ row: Int64) throws(DatabaseError) -> SourceEntry? {
    do throws(RowError) {
      return try reader.entry(row: row, values(row))
    } catch {
      if case .database(let failure) = error { throw failure }
      return nil
    }
  }

  private static func key(_ method: String, _ url: String) -> ByteString {
    ByteString("\(method) \(url)")
  }

  private static func fill(
    _ newest: NewestRows, _ sql: String, _ reader: any FormatReader, _ next: Statement,
    _ source: SourceDatabase
  ) throws(DatabaseError) {
    let rows = try source.database.prepare(sql)
    var start = Int64.min
    while true {
      rows.restart([.integer(start)])
      do throws(DatabaseError) {
        while try rows.step() {
          guard let row = try rows.value(0).integer, row >= start else { return }
          start = row == .max ? row : row + 1
          let key = try rows.value(1).string ?? ""
          let (method, url) = reader.identity(ofKey: key)
          try newest.add(row, key: Self.key(method, url), recency: rows.value(2).number)
        }
        return
      } catch  where error.isTooLarge {
        // A key that is too long is skipped here, and again when its row is read.
        guard let row = try following(start == .min ? nil : start - 1, next), row < .max else {
          return
        }
        start = row + 1
      } catch { throw error }
    }
  }
}

extension SourceFormat {
  var reader: any FormatReader.Type {
    switch self {
    case .offlinecache: OfflineCacheReader.self
    case .coredata: CoreDataReader.self
    case .cfnetwork: CFNetworkReader.self
    case .yycache: YYCacheReader.self
    }
  }
}

extension SourceDatabase {
  /// Returns the first format whose main table exists.
  fileprivate func format(among formats: [SourceFormat]) throws(SourceError) -> SourceFormat? {
    for format in formats where try columns(of: format.reader.table) != nil { return format }
    return nil
  }
}
