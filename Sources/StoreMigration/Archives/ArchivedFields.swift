internal import CacheFormat
internal import HTTPSemantics

enum ArchivedFields {
  /// The name of the pseudo field with the received fields, in the dictionary of a response: CRLF
  /// CRLF and base 64 of the property list `{name: [value, ...]}`. It is not a field, whatever the
  /// case of its letters.
  private static let original = "__hhaa__"

  /// Returns the fields of a response.
  ///
  /// The dictionary itself joins repeated names and has `Etag`. It is used if the pseudo field
  /// cannot be decoded.
  static func response(_ pairs: [PropertyListPair]) -> HTTPFields {
    for pair in pairs where isOriginal(pair.key.string) {
      if let fields = decoded(pair.value) { return valid(fields) }
    }
    return request(pairs)
  }

  static func request(_ pairs: [PropertyListPair]) -> HTTPFields {
    valid(pairs.map { ($0.key.string, $0.value.string) })
  }

  private static func isOriginal(_ name: String?) -> Bool { name?.lowercased() == original }

  private static func decoded(_ value: PropertyListValue) -> [(String?, String?)]? {
    guard let text = value.string,
      let bytes = Base64.decode(Array(text.utf8.drop { $0 <= 0x20 })),
      let list = try? PropertyListValue(binary: bytes), let pairs = list.pairs
    else { return nil }
    var fields: [(String?, String?)] = []
    for pair in pairs {
      guard case .array(let values) = pair.value else { return nil }
      for value in values { fields.append((pair.key.string, value.string)) }
    }
    return fields
  }

  /// Returns the fields without those that could not be sent: a value with a line end would become
  /// two fields.
  private static func valid(_ pairs: [(String?, String?)]) -> HTTPFields {
    var fields: HTTPFields = []
    for case (let name?, let value?) in pairs where !isOriginal(name) {
      let field = HTTPField(name, value)
      if field.isValid { fields.append(field) }
    }
    return fields
  }
}

enum MadeUpFields {
  /// Returns `Content-Type`, or no field if there is no type that could be sent.
  static func contentType(_ type: String?, charset: String? = nil) -> HTTPFields {
    guard let type, !type.isEmpty else { return [] }
    let parameter = charset.map { $0.isEmpty ? "" : "; charset=\($0)" } ?? ""
    let field = HTTPField("Content-Type", type + parameter)
    return field.isValid ? [field] : []
  }
}
