internal import CacheSystem

/// The column and the folder with a source's bodies.
struct BodyPlaces {
  /// For looking at the beginning.
  let values: BodyValues
  /// For reading the whole, so that rows and bodies may be asked for by turns.
  let contents: BodyValues
  let folder: BodyFolder
  /// Whether text is stored as its bytes.
  private let isUTF8: Bool

  init(_ database: Database, table: String, column: String, folder: BodyFolder) {
    values = BodyValues(database, table: table, column: column)
    contents = BodyValues(database, table: table, column: column)
    self.folder = folder
    isUTF8 = (try? database.prepare("PRAGMA encoding").first()?[0].string) == "UTF-8"
  }

  /// A body that was found, with the first bytes of it.
  struct Found {
    let body: SourceBody
    let start: [UInt8]
  }

  /// How many first bytes are looked at.
  static let startBytes = 16

  /// Finds a body that is a value.
  ///
  /// - Parameters:
  ///   - type: what typeof() says: anything but a text or a blob is no body.
  ///   - offset: how many bytes in front are no part of it; there are as many.
  func value(_ row: Int64, type: DatabaseValue, offset: Int = 0) throws(RowError) -> Found {
    guard type.string == "blob" || type.string == "text" else { throw RowError.skip(.noBody, "") }
    guard isUTF8 || type.string == "blob" else {
      // Its bytes are not those that somebody has stored.
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

  /// Finds a body that is a file.
  func file(_ name: [UInt8], accepts: ([UInt8]) -> Bool) throws(RowError) -> Found {
    let length = try folder.find(name, accepts: accepts)
    guard let start = folder.read(name, count: Self.startBytes) else {
      throw RowError.skip(.missingBodyFile, "it cannot be read")
    }
    return Found(body: SourceBody(place: .file(name: name), length: length), start: start)
  }

  /// Reads a whole value or file; nil where it is longer than an archive may be, or is not what was
  /// found.
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
