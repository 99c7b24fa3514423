internal import CacheSystem
internal import HTTPSemantics

/// Reads the entity CachedURLResponse of a Core Data store.
struct CoreDataReader: FormatReader {
  static let table = "ZCACHEDURLRESPONSE"

  let bodies: BodyPlaces
  let query: String
  /// NULL is the oldest.
  let order: String? = """
    SELECT rowid, ZURL, ZTIMESTAMP FROM ZCACHEDURLRESPONSE WHERE rowid >= ?1 ORDER BY rowid
    """
  /// The number of the entity, or `nil` if it cannot be found out. Sub-entities share the table.
  private let entity: Int64?
  /// Whether each value begins with a byte that shows where the body is.
  private let isTagged: Bool

  init(_ source: SourceDatabase) throws(SourceError) {
    let columns = try source.columns(
      of: Self.table,
      needing: ["Z_PK", "Z_ENT", "ZTIMESTAMP", "ZENCODING", "ZMIMETYPE", "ZURL", "ZDATA"])
    let status = columns.contains("zstatuscode") ? "ZSTATUSCODE" : "NULL"
    query = """
      SELECT ZURL, Z_ENT, typeof(ZDATA), ZTIMESTAMP, ZMIMETYPE, ZENCODING, \(status) \
      FROM ZCACHEDURLRESPONSE WHERE rowid = ?1
      """
    let support = BodyFolder.supportName(of: UserPath.split(source.path).name)
    bodies = BodyPlaces(
      source.database, table: Self.table, column: "ZDATA",
      folder: BodyFolder([support, "_EXTERNAL_DATA"], besides: source.path))
    do throws(DatabaseError) {
      entity = try Self.entity(source)
      isTagged = try Self.areTagged(bodies.values, source.database, hasFolder: bodies.folder.exists)
    } catch { throw source.error(error) }
  }

  func entry(row: Int64, _ values: [DatabaseValue]) throws(RowError) -> SourceEntry {
    if let entity, values[1].integer != entity { throw RowError.skip(.foreignEntity, "") }
    let url = key(of: values)
    try SourceURL.check(url)
    let found = try body(row, type: values[2])
    let status = try Self.status(values[6])
    if status != 0 { try HTTPEntry.check(status: status) }
    var entry = SourceEntry(
      url: url, status: status == 0 ? 200 : status,
      fields: MadeUpFields.contentType(values[4].string, charset: values[5].string),
      body: found.body)
    entry.madeUp = status == 0 ? [.status, .fields] : [.fields]
    entry.created = SourceDate.sinceReference(values[3])
    entry.received = entry.created
    return entry
  }

  /// Returns the status of a row; 0 if it has none. An app may have declared the attribute as a
  /// number with a fraction, or as a string.
  private static func status(_ value: DatabaseValue) throws(RowError) -> Int {
    let status: Int64? =
      switch value {
      case .null: 0
      case .integer(let number): number
      case .real(let number): Int64(exactly: number)
      case .text(let text): Int64(String(decoding: text, as: UTF8.self))
      case .blob: nil
      }
    guard let status, status == 0 || 100...599 ~= status else {
      throw RowError.skip(.badStatus, status.map { "\($0)" } ?? "it is no whole number")
    }
    return Int(status)
  }

  private func body(_ row: Int64, type: DatabaseValue) throws(RowError) -> BodyPlaces.Found {
    guard isTagged else { return try bodies.value(row, type: type) }
    let tagged = try bodies.value(row, type: type, offset: 0)
    guard let tag = tagged.start.first else { return tagged }
    if tag == 1 { return try bodies.value(row, type: type, offset: 1) }
    guard tagged.body.length <= 256, let name = try bodies.whole(tagged.body) else {
      throw RowError.skip(.unsafeFileName, "")
    }
    let end = name.lastIndex { $0 != 0 } ?? 0
    return try bodies.file(Array(name[1...].prefix(end)), accepts: BodyFolder.isUUID)
  }

  private static func entity(_ source: SourceDatabase) throws(DatabaseError) -> Int64? {
    guard let columns = try? source.columns(of: "Z_PRIMARYKEY"), columns.contains("z_name") else {
      return nil
    }
    let found = try source.database.prepare(
      "SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'CachedURLResponse' LIMIT 1")
    return try found.first()?[0].integer
  }

  /// Returns whether each value that is not empty begins with 1 or 2, as in a store that was made
  /// with external storage. If its folder is lost, one of the values has to name a file in it.
  private static func areTagged(
    _ values: BodyValues, _ database: Database, hasFolder: Bool
  ) throws(DatabaseError) -> Bool {
    var isSure = hasFolder
    let rows = try database.prepare(
      "SELECT rowid FROM ZCACHEDURLRESPONSE WHERE typeof(ZDATA) IN ('blob', 'text')")
    rows.restart()
    while try rows.step() {
      guard let row = try rows.value(0).integer else { continue }
      let start = try values.open(row).read(at: 0, count: 37)
      guard let tag = start.first else { continue }
      if tag != 1, tag != 2 { return false }
      isSure = isSure || tag == 2 && BodyFolder.isUUID(Array(start.dropFirst()))
    }
    return isSure
  }
}
