internal import HTTPSemantics

struct OfflineCacheReader: FormatReader {
  static let table = "cache_entry"

  let bodies: BodyPlaces

  let query = """
    SELECT search_key, response, typeof(data), request, user_info, creation_time, \
    last_access_time, expiration_date FROM cache_entry WHERE rowid = ?1
    """

  /// DELETE and INSERT are not one transaction there, so a key may occur twice: the higher id is
  /// newer.
  let order: String? =
    "SELECT rowid, search_key, NULL FROM cache_entry WHERE rowid >= ?1 ORDER BY rowid"

  init(_ source: SourceDatabase) throws(SourceError) {
    _ = try source.columns(
      of: Self.table,
      needing: [
        "id", "creation_time", "last_access_time", "expiration_date", "search_key", "request",
        "response", "data", "user_info",
      ])
    bodies = BodyPlaces(
      source.database, table: Self.table, column: "data",
      folder: BodyFolder([], besides: source.path))
  }

  /// Splits `METHOD:URL` at the first colon. Without a method it is `GET`.
  func identity(ofKey text: String) -> (method: String, url: String) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex,
      text.utf8[..<colon].allSatisfy({ 65...90 ~= $0 })
    else { return ("GET", text) }
    return (String(text[..<colon]), String(text[text.utf8.index(after: colon)...]))
  }

  func entry(row: Int64, _ values: [DatabaseValue]) throws(RowError) -> SourceEntry {
    let (method, url) = identity(ofKey: key(of: values))
    try SourceURL.check(url)
    try HTTPEntry.check(method: method)
    guard let archive = values[1].bytes else { throw RowError.skip(.missingResponse, "") }
    let response = try ArchivedResponse(keyedArchive: archive)
    let found: BodyPlaces.Found
    if values[2].string == "null" {
      // FMDB stores nil for a response without a body.
      found = BodyPlaces.Found(body: SourceBody(place: .bytes([]), length: 0), start: [])
    } else {
      found = try bodies.value(row, type: values[2])
    }
    var entry = try HTTPEntry.make(url: url, method: method, response, found)
    entry.requestFields = values[3].bytes.flatMap { ArchivedRequest(keyedArchive: $0)?.fields }
    entry.userInfo = values[4].bytes.flatMap(Self.userInfo)
    entry.created = SourceDate.unix(values[5])
    entry.lastAccess = SourceDate.unix(values[6])
    entry.expires = SourceDate.unix(values[7])
    return entry
  }

  /// Returns an archived dictionary, or `nil` for any other object and for damaged archives.
  private static func userInfo(_ bytes: [UInt8]) -> PropertyListValue? {
    var budget = PropertyListBudget()
    guard let archive = try? KeyedArchive(bytes), let root = archive.root,
      let value = try? archive.value(root, &budget), value.pairs != nil
    else { return nil }
    return value
  }
}
