import CacheFormat
import Foundation

/// Translates the user info of a `CachedURLResponse`, which may be anything, to one item of an entry.
///
/// Kept are values that a property list can have (text, data, dates, numbers, Booleans, and arrays and
/// dictionaries of those) under keys that are text. Everything else has no form on disk.
enum UserInfo {
  /// Names the item; its value is a binary property list.
  private static let name = ByteString("foundation-user-info")
  /// Deeper values are taken for a cycle.
  private static let maximumDepth = 64

  /// Returns the item, if there is anything to keep, and the keys of what cannot be kept.
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

  /// Returns what ``encode(_:)`` has kept; nil where there is nothing.
  static func decode(_ fields: [Field]) -> [AnyHashable: Any]? {
    guard let field = fields.first(where: { $0.name == name }) else { return nil }
    // Safety: there is no place for the format to be written to.
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
