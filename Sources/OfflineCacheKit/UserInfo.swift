/// Converts the user info of a `CachedURLResponse`, which may have any values, to one field of an
/// entry.
///
/// Values that a property list can have are kept (text, data, dates, numbers, Booleans, and arrays
/// and dictionaries of those) if their keys are text. All others cannot be written to disk.
enum UserInfo {
  /// The name of the field. Its value is a binary property list.
  private static let name = ByteString("foundation-user-info")
  /// The limit on the depth of values; deeper ones cannot be kept. This does not protect against a mutable
  /// Foundation collection that contains itself: on Linux, Foundation ends the process when such a value is
  /// cast.
  private static let maximumDepth = 64

  /// Returns the field, if there is anything to keep, and the keys of the values that cannot be
  /// kept.
  static func encode(_ info: [AnyHashable: Any]?) -> (fields: [Field], lost: [AnyHashable]) {
    var kept: [String: Any] = [:]
    var lost: [AnyHashable] = []
    for (key, value) in info ?? [:] {
      if let name = key.base as? String, isPropertyList(value) {
        kept[name] = value
      } else {
        lost.append(key)
      }
    }
    guard !kept.isEmpty else { return ([], lost) }
    guard
      let data = try? PropertyListSerialization.data(
        fromPropertyList: kept, format: .binary, options: 0)
    else { return ([], lost + kept.keys.map { AnyHashable($0) }) }
    return ([Field(name, ByteString(bytes: [UInt8](data)))], lost)
  }

  /// Returns the user info that ``encode(_:)`` has kept, or `nil` if there is none.
  static func decode(_ fields: [Field]) -> [AnyHashable: Any]? {
    guard let field = fields.first(where: { $0.name == name }) else { return nil }
    // Safety: no location is passed for the format.
    let list = unsafe try? PropertyListSerialization.propertyList(
      from: Data(field.value.bytes), options: [], format: nil)
    return list as? [String: Any]
  }

  private static func isPropertyList(_ value: Any, depth: Int = 0) -> Bool {
    guard depth < maximumDepth else { return false }
    switch value {
    case is String, is Data, is Date, is NSNumber, is Bool, is Int, is Double: return true
    case let list as [Any]: return list.allSatisfy { isPropertyList($0, depth: depth + 1) }
    case let table as [String: Any]:
      return table.values.allSatisfy { isPropertyList($0, depth: depth + 1) }
    default: return false
    }
  }
}
