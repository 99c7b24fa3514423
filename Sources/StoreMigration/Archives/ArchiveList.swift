/// The list that CFNetwork makes of a request or a response: a version and objects.
///
/// There are three containers for it: `{Version, Array}` in Cache.db,
/// and keyed archives with the objects under names (since iOS 10) or under `$3` and so on (before).
struct ArchiveList {
  /// The limit on the number of objects; Apple's lists have 7 to 22.
  static let maximumCount = 64

  let version: Int
  let items: [PropertyListValue]

  init(cacheBlob bytes: [UInt8]) throws(PropertyListError) {
    let value = try PropertyListValue(binary: bytes)
    guard let version = value["Version"]?.integer, case .array(let items)? = value["Array"] else {
      throw PropertyListError(.wrongType)
    }
    self.version = version
    self.items = items.map(Self.withoutNull)
  }

  /// Creates the list from an archived NSURLRequest or NSURLResponse.
  init(_ object: KeyedArchive.Object, in archive: KeyedArchive) throws(PropertyListError) {
    var budget = PropertyListBudget()
    guard let version = try Self.number("$1", of: object, in: archive, &budget),
      let count = try Self.number("$2", of: object, in: archive, &budget),
      1...Self.maximumCount ~= count
    else { throw PropertyListError(.wrongType) }
    var items: [PropertyListValue] = []
    for index in 0..<count {
      var place = try archive.member("__nsurlrequest_proto_prop_obj_\(index)", of: object, &budget)
      if place == nil { place = try archive.member("$\(3 + index)", of: object, &budget) }
      guard let place else {
        items.append(.null)
        continue
      }
      items.append(Self.withoutNull(try archive.value(place, &budget)))
    }
    self.version = version
    self.items = items
  }

  /// Returns the text of a URL: a string, or the form that Cache.db has.
  static func url(_ value: PropertyListValue) -> String? {
    value.string ?? value["_CFURLString"]?.string
  }

  private static func number(
    _ key: String, of object: KeyedArchive.Object, in archive: KeyedArchive,
    _ budget: inout PropertyListBudget
  ) throws(PropertyListError) -> Int? {
    guard let place = try archive.member(key, of: object, &budget) else { return nil }
    return try archive.value(place, &budget).integer
  }

  private static func withoutNull(_ value: PropertyListValue) -> PropertyListValue {
    switch value {
    case .string("__CFURLResponseNullTokenString__"), .string("__CFURLRequestNullTokenString__"):
      .null
    default: value
    }
  }
}
