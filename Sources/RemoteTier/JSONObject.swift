import CacheFormat

/// Reads the JSON objects of the tier with the bounded reader of the store's documents.
enum JSONObject {
  private static let maximumMembers = 63

  /// Reads an object; `member` reads each member.
  ///
  /// - Throws: `FormatError` for text that is not one JSON object with at least one member, and for
  ///   a member `checksum`, which only documents in a store have.
  static func read(
    _ bytes: [UInt8],
    _ member: (inout JSONReader, _ name: String) throws(FormatError) -> Void
  ) throws(FormatError) {
    var count = 0
    _ = try JSONReader.readDocument(bytes) { (reader, name) throws(FormatError) in
      count += 1
      guard count <= maximumMembers, name != "checksum" else {
        throw reader.error(.notJSON, "is one member too many")
      }
      try member(&reader, name)
    }
    if count == 0 { throw FormatError(.notJSON, "the document has no member") }
  }

  /// Reads the version of an inner document.
  ///
  /// - Throws: `FormatError` with `newerFormat` for a later one.
  static func checkVersion(_ reader: inout JSONReader) throws(FormatError) {
    guard try reader.readUnsigned() == 1 else {
      throw reader.error(.newerFormat, "is of a newer version")
    }
  }
}
