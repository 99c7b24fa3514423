import CacheFormat

@testable import StoreMigration

extension PropertyListBytes {
  /// Archives an object of a class.
  ///
  /// - Parameters:
  ///   - members: Its members besides `$class`; a member gets the number of the first of `more`.
  ///   - more: Raw objects, of which one and the others have no other meaning than that members
  ///     refer to them.
  static func object(
    _ name: String, _ members: [(key: String, bytes: (_ more: UInt8) -> [UInt8])],
    more: [[UInt8]] = []
  ) -> [UInt8] {
    archive(root: 1) { first in
      let ascii = { (text: String) in [0x50 | UInt8(text.utf8.count)] + Array(text.utf8) }
      let count = UInt8(members.count)
      let keys = (first + 1)...(first + 1 + count)
      let values = (first + 2 + count)...(first + 2 + 2 * count)
      let next = first + 6 + 2 * count
      return [[0xd0 | (count + 1)] + keys + values, ascii("$class")]
        + members.map { ascii($0.key) } + [[0x80, 4 + 2 * count]]
        + members.map { $0.bytes(next) }
        + [[0xd1, next - 2, next - 1], ascii("$classname"), ascii(name)] + more
    }
  }

  /// Archives an object of a class with one more member.
  static func object(_ name: String, _ key: String, _ member: [UInt8]) -> [UInt8] {
    object(name, [(key, { _ in member })])
  }
}

extension KeyedArchive {
  /// Returns the value of the root of an archive.
  static func value(_ bytes: [UInt8]) throws(PropertyListError) -> PropertyListValue {
    let archive = try KeyedArchive(bytes)
    guard let root = archive.root else { return .null }
    var budget = PropertyListBudget()
    return try archive.value(root, &budget)
  }

  /// Returns the reason why the root of an archive has no value.
  static func cause(_ bytes: [UInt8]) -> PropertyListError.Cause? {
    do throws(PropertyListError) {
      _ = try value(bytes)
      return nil
    } catch { return error.cause }
  }
}
