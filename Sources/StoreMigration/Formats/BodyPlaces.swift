internal import CacheSystem

struct BodyPlaces {
  /// The values for reading first bytes.
  let values: BodyValues
  /// The values for reading whole bodies, so that reading rows and bodies can alternate.
  let contents: BodyValues
  let folder: BodyFolder
  private let isUTF8: Bool

  init(_ database: Database, table: String, column: String, folder: BodyFolder) {
    values = BodyValues(database, table: table, column: column)
    contents = BodyValues(database, table: table, column: column)
    self.folder = folder
    isUTF8 = (try? database.prepare("PRAGMA encoding").first()?[0].string) == "UTF-8"
  }

  struct Found {
    let body: SourceBody
    let start: [UInt8]
  }

  static let startBytes = 16

  /// Finds a body that is a value in the database.
  ///
  /// - Parameters:
  ///   - type: The result of typeof(): only a text or a blob is a body.
  ///   - offset: The number of bytes in front that are not part of the body; the value has at least
  ///     that many.
  func value(_ row: Int64, type: DatabaseValue, offset: Int = 0) throws(RowError) -> Found {
    guard type.string == "blob" || type.string == "text" else { throw RowError.skip(.noBody, "") }
    guard isUTF8 || type.string == "blob" else {
      // SQLite does not return the bytes that were stored.
      throw RowError.skip(.noBody, "a text in UTF-16")
    }
    do throws(DatabaseError) {
      let blob = try values.open(row)
      let start = try blob.read(at: offset, count: Self.startBytes)
      let length = UInt64(max(0, blob.count - offset))
      let body = SourceBody(place: .value(row: row), offset: UInt64(offset), length: length)
      return Found(body: body, start: start)
    } catch { throw RowError.database(error) }
  }

  func file(_ name: [UInt8], accepts: ([UInt8]) -> Bool) throws(RowError) -> Found {
    let length = try folder.find(name, accepts: accepts)
    guard let start = folder.read(name, count: Self.startBytes) else {
      throw RowError.skip(.missingBodyFile, "it cannot be read")
    }
    return Found(body: SourceBody(place: .file(name: name), length: length), start: start)
  }

  /// Reads a whole value or file. Returns `nil` if it is longer than an archive may be, or its
  /// file cannot be read any more.
  func whole(_ body: SourceBody) throws(RowError) -> [UInt8]? {
    guard body.length <= UInt64(PropertyListBudget.maximumBytes) else { return nil }
    switch body.place {
    case .bytes(let bytes): return bytes
    case .file(let name): return folder.read(name, count: Int(body.length))
    case .value(let row):
      do throws(DatabaseError) {
        return try values.open(row).read(at: 0, count: Int(body.length))
      } catch { throw RowError.database(error) }
    }
  }
}

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
