import CacheFormat

@testable import StoreMigration

extension PropertyListBytes {
  /// Returns a list with this value, which has at most 255 objects.
  static func list(_ value: PropertyListValue) -> [UInt8] {
    var list = PropertyListBytes()
    let root = list.add(value)
    return list.finished(root: root)
  }

  /// Adds a value and what it contains.
  mutating func add(_ value: PropertyListValue) -> UInt8 {
    switch value {
    case .null: return add([0x00])
    case .bool(let value): return add([value ? 0x09 : 0x08])
    case .integer(let number): return add([0x14] + Self.bytes(number, 16))
    case .real(let number): return add([0x23] + Self.bytes(Int128(number.bitPattern), 8))
    case .date(let time):
      let seconds = Double(time.nanoseconds) / 1e9 - 978_307_200
      return add([0x33] + Self.bytes(Int128(seconds.bitPattern), 8))
    case .data(let bytes): return add(Self.head(0x40, bytes.count) + bytes)
    case .string(let text):
      let units = Array(text.utf16)
      if text.utf8.count == units.count { return add(Self.head(0x50, units.count) + text.utf8) }
      return add(Self.head(0x60, units.count) + units.flatMap { Self.bytes(Int128($0), 2) })
    case .array(let values):
      let places = values.map { add($0) }
      return add(Self.head(0xa0, places.count) + places)
    case .dictionary(let pairs):
      let keys = pairs.map { add($0.key) }
      let values = pairs.map { add($0.value) }
      return add(Self.head(0xd0, pairs.count) + keys + values)
    }
  }

  private static func head(_ marker: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [marker | UInt8(count)] : [marker | 15, 0x12] + bytes(Int128(count), 4)
  }

  private static func bytes(_ number: Int128, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * Int128($0))) }
  }
}

extension PropertyListValue {
  /// Makes a dictionary whose keys are strings.
  static func pairs(_ pairs: (String, PropertyListValue)...) -> PropertyListValue {
    .dictionary(pairs.map { PropertyListPair(key: .string($0), value: $1) })
  }

  /// Makes the list of Cache.db for a request or a response.
  static func cacheBlob(version: Int = 1, _ items: [PropertyListValue]) -> PropertyListValue {
    .pairs(("Version", .integer(Int128(version))), ("Array", .array(items)))
  }
}
