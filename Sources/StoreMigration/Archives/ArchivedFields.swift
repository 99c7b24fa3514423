internal import CacheFormat
internal import HTTPSemantics

/// Makes fields of archived dictionaries.
enum ArchivedFields {
  /// The pseudo field of a response's dictionary with the fields as they came: CRLF CRLF and base 64
  /// of the property list `{name: [value, ...]}`. In no case of its letters is it a field.
  private static let original = "__hhaa__"

  /// Gives the fields of a response, and how many were left out.
  ///
  /// The dictionary itself joins repeated names and writes `Etag`; it counts where the original
  /// does not decode.
  static func response(_ pairs: [PropertyListPair]) -> (HTTPFields, invalid: Int) {
    for pair in pairs where isOriginal(pair.key.string) {
      if let fields = decoded(pair.value) { return valid(fields) }
    }
    return request(pairs)
  }

  /// Gives the fields of a request, and how many were left out.
  static func request(_ pairs: [PropertyListPair]) -> (HTTPFields, invalid: Int) {
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

  /// Leaves out what could not be sent as a field: a value with a line end would become two.
  private static func valid(_ pairs: [(String?, String?)]) -> (HTTPFields, invalid: Int) {
    let found = pairs.filter { !isOriginal($0.0) }
    var fields: [HTTPField] = []
    for case (let name?, let value?) in found {
      let field = HTTPField(name, value)
      if field.isValid { fields.append(field) }
    }
    return (HTTPFields(fields), found.count - fields.count)
  }
}

/// Makes the fields of a response for sources that keep none.
enum MadeUpFields {
  /// Gives `Content-Type`, or nothing without a type that could be sent.
  static func contentType(_ type: String?, charset: String? = nil) -> HTTPFields {
    guard let type, !type.isEmpty else { return [] }
    let parameter = charset.map { $0.isEmpty ? "" : "; charset=\($0)" } ?? ""
    let field = HTTPField("Content-Type", type + parameter)
    return field.isValid ? [field] : []
  }
}
