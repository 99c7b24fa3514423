internal import CacheFormat
internal import HTTPSemantics

/// Reads manifest.sqlite of YYCache. It is a key-value store; entries whose
/// keys are URLs and whose values are bodies can be moved.
struct YYCacheReader: FormatReader {
  static let table = "manifest"

  let bodies: BodyPlaces

  let query = """
    SELECT key, filename, typeof(inline_data), size, modification_time, last_access_time \
    FROM manifest WHERE rowid = ?1
    """

  init(_ source: SourceDatabase) throws(SourceError) {
    _ = try source.columns(
      of: Self.table,
      needing: [
        "key", "filename", "size", "inline_data", "modification_time", "last_access_time",
        "extended_data",
      ])
    bodies = BodyPlaces(
      source.database, table: Self.table, column: "inline_data",
      folder: BodyFolder(["data"], besides: source.path))
  }

  func entry(row: Int64, _ values: [DatabaseValue]) throws(RowError) -> SourceEntry {
    let url = key(of: values)
    guard let scheme = SourceURL.scheme(of: url), url.dropFirst(scheme.count).hasPrefix("://")
    else {
      throw RowError.skip(.notAURLKey, "")
    }
    try SourceURL.check(url)
    let found = try unwrapped(value(row, values))
    let type = MediaTypes.guess(url: url, start: found.start)
    var entry = SourceEntry(
      url: url, status: 200, fields: MadeUpFields.contentType(type), body: found.body)
    entry.madeUp = [.status, .fields]
    entry.created = values[4].number.map { Timestamp(seconds: $0) }
    entry.lastAccess = values[5].number.map { Timestamp(seconds: $0) }
    return entry
  }

  private func value(_ row: Int64, _ values: [DatabaseValue]) throws(RowError) -> BodyPlaces.Found {
    let found: BodyPlaces.Found
    if let name = values[1].bytes, !name.isEmpty {
      // A program may choose any names for files, but YYCache itself has no hidden ones.
      found = try bodies.file(name) { $0.first != UInt8(ascii: ".") }
    } else {
      found = try bodies.value(row, type: values[2])
    }
    if let size = values[3].integer, UInt64(exactly: size) != found.body.length {
      throw RowError.skip(.sizeMismatch, "\(found.body.length) bytes instead of \(size)")
    }
    return found
  }

  /// Returns the bytes or the text of an archive. A body that is not an archive is returned
  /// unchanged.
  private func unwrapped(_ found: BodyPlaces.Found) throws(RowError) -> BodyPlaces.Found {
    guard found.start.starts(with: "bplist00".utf8) else { return found }
    guard let bytes = try bodies.whole(found.body) else {
      throw RowError.skip(.tooLarge, "an archive of \(found.body.length) bytes")
    }
    guard let archive = try? KeyedArchive(bytes) else { return found }
    var budget = PropertyListBudget()
    let name = archive.root.flatMap { try? archive.className(of: $0, &budget) } ?? "nil"
    guard let root = archive.root,
      ["NSData", "NSMutableData", "NSString", "NSMutableString"].contains(name)
    else { throw RowError.skip(.unsupportedValueClass, RowError.excerpt(name)) }
    return try Self.content(root, of: archive, in: found.body, &budget)
  }

  /// Returns archived bytes as a part of the value that has them. Text is encoded again.
  private static func content(
    _ root: KeyedArchive.Object, of archive: KeyedArchive, in value: SourceBody,
    _ budget: inout PropertyListBudget
  ) throws(RowError) -> BodyPlaces.Found {
    if let range = try? archive.data(root, &budget) {
      var body = value
      body.offset = UInt64(range.lowerBound)
      body.length = UInt64(range.count)
      return BodyPlaces.Found(
        body: body, start: Array(archive.list.bytes[range].prefix(BodyPlaces.startBytes)))
    }
    guard let text = try? archive.value(root, &budget).string else {
      throw RowError.skip(.unsupportedValueClass, "")
    }
    let bytes = Array(text.utf8)
    return BodyPlaces.Found(
      body: SourceBody(place: .bytes(bytes), length: UInt64(bytes.count)),
      start: Array(bytes.prefix(BodyPlaces.startBytes)))
  }
}

extension MediaTypes {
  /// The first bytes of image formats, for URLs without an extension.
  private static let signatures: [([UInt8], String)] = [
    ([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"),
    ([0xff, 0xd8, 0xff], "image/jpeg"),
    (Array("GIF8".utf8), "image/gif"),
  ]

  /// Returns the type by the extension of the URL's path, or by the first bytes, or `nil` if
  /// neither is known. For sources that keep no type.
  static func guess(url: String, start: [UInt8]) -> String? {
    essence(ofEnding: SourceURL.pathExtension(url))
      ?? signatures.first { start.starts(with: $0.0) }?.1
  }
}
