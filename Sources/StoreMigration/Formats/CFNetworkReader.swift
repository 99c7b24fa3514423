internal import CacheFormat
internal import HTTPSemantics

/// Reads Apple's Cache.db. The columns determine the generation, not the
/// version.
struct CFNetworkReader: FormatReader {
  static let table = "cfurl_cache_response"

  private static let blobs = "cfurl_cache_blob_data"
  private static let receivers = "cfurl_cache_receiver_data"

  let bodies: BodyPlaces
  let query: String

  init(_ source: SourceDatabase) throws(SourceError) {
    let columns = try source.columns(
      of: Self.table, needing: ["entry_ID", "storage_policy", "request_key", "time_stamp"])
    let blobColumns = try source.columns(
      of: Self.blobs,
      needing: ["entry_ID", "response_object", "request_object", "proto_props", "user_info"])
    let partition = columns.contains("partition") ? "r.partition" : "NULL"
    // The generation of 2008 has the body beside the archives, in one table.
    let isOneTable = blobColumns.contains("receiver_data")
    var isOnDisk = "0"
    var join = ""
    if !isOneTable {
      let receiver = try source.columns(of: Self.receivers, needing: ["entry_ID", "receiver_data"])
      if receiver.contains("isdataonfs") { isOnDisk = "d.isDataOnFS" }
      join = "LEFT JOIN \(Self.receivers) d ON d.entry_ID = r.entry_ID"
    }
    let body = isOneTable ? "b" : "d"
    // The name of a file is short. Bodies are not read here.
    query = """
      SELECT r.request_key, r.storage_policy, r.time_stamp, \(partition), b.response_object, \
      b.request_object, b.proto_props, b.user_info, \(body).rowid, typeof(\(body).receiver_data), \
      \(isOnDisk), CASE WHEN \(isOnDisk) THEN \(body).receiver_data END \
      FROM \(Self.table) r LEFT JOIN \(Self.blobs) b ON b.entry_ID = r.entry_ID \(join) \
      WHERE r.rowid = ?1
      """
    bodies = BodyPlaces(
      source.database, table: isOneTable ? Self.blobs : Self.receivers, column: "receiver_data",
      folder: BodyFolder(["fsCachedData"], besides: source.path))
  }

  func entry(row: Int64, _ values: [DatabaseValue]) throws(RowError) -> SourceEntry {
    switch values[1] {
    case .null, .integer(0): break
    case .integer(let policy): throw RowError.skip(.storagePolicy, "\(policy)")
    default: throw RowError.skip(.storagePolicy, "no integer")
    }
    guard let archive = values[4].bytes else { throw RowError.skip(.missingResponse, "") }
    let response = try ArchivedResponse(cacheBlob: archive)
    let key = key(of: values)
    let url = key.isEmpty ? response.url ?? "" : key
    try SourceURL.check(url)
    let request = values[5].bytes.flatMap { ArchivedRequest(cacheBlob: $0) }
    let method = request?.method ?? "GET"
    try HTTPEntry.check(method: method)
    var entry = try HTTPEntry.make(url: url, method: method, response, body(values))
    entry.requestFields = Self.selecting(response.fields, request?.fields, values[6].bytes)
    entry.userInfo = values[7].bytes.flatMap { try? PropertyListValue(binary: $0) }
    entry.created = SourceDate.unix(values[2])
    entry.expires = HTTPEntry.freshUntil(response)
    entry.partition = values[3].string.flatMap { $0.isEmpty ? nil : $0 }
    return entry
  }

  private func body(_ values: [DatabaseValue]) throws(RowError) -> BodyPlaces.Found {
    guard let row = values[8].integer, values[9].string != "null" else {
      throw RowError.skip(.noBody, "")
    }
    // The flag determines whether the body is a file, not the length.
    guard let flag = values[10].integer, flag != 0 else {
      return try bodies.value(row, type: values[9])
    }
    return try bodies.file(values[11].bytes ?? [], accepts: BodyFolder.isUUID)
  }

  /// Returns the fields of the request. Those that `Vary` names are taken from `proto_props`, which
  /// has the fields that were really sent.
  private static func selecting(
    _ response: HTTPFields, _ request: HTTPFields?, _ properties: [UInt8]?
  ) -> HTTPFields? {
    guard let vary = response.combinedValue(of: "Vary") else { return request }
    let names = String(decoding: vary, as: UTF8.self)
    guard let properties, let properties = try? PropertyListValue(binary: properties),
      let selected = properties.pairs?.first(where: { Self.isSameList($0.key.string, names) })?
        .value.pairs
    else { return request }
    var fields = request ?? []
    for name in list(names) { fields.removeAll(named: name) }
    for field in ArchivedFields.request(selected) { fields.append(field) }
    return fields
  }

  private static func isSameList(_ key: String?, _ names: String) -> Bool {
    key.map { Set(list($0)) == Set(list(names)) } ?? false
  }

  private static func list(_ text: String) -> [String] {
    text.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
  }
}
