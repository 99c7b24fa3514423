@testable import StoreMigration

/// Writes binary property lists, wrong ones too.
struct PropertyListBytes {
  private(set) var bytes = Array("bplist00".utf8)
  private var offsets: [Int] = []

  /// Adds an object of raw bytes; gives its number.
  @discardableResult
  mutating func add(_ object: [UInt8]) -> UInt8 {
    offsets.append(bytes.count)
    bytes += object
    return UInt8(offsets.count - 1)
  }

  /// Adds an ASCII string of any length.
  @discardableResult
  mutating func add(_ text: String) -> UInt8 {
    let length = text.utf8.count
    let head: [UInt8] =
      length < 15 ? [0x50 | UInt8(length)] : [0x5f, 0x11, UInt8(length >> 8), UInt8(length & 255)]
    return add(head + Array(text.utf8))
  }

  /// Gives the whole list: two bytes for each offset, one for each reference.
  func finished(root: UInt8, count: UInt64? = nil, table: UInt64? = nil) -> [UInt8] {
    var all = bytes
    for offset in offsets { all += [UInt8(offset >> 8), UInt8(offset & 255)] }
    all += [0, 0, 0, 0, 0, 0, 2, 1]
    for number in [count ?? UInt64(offsets.count), UInt64(root), table ?? UInt64(bytes.count)] {
      for shift in stride(from: 56, through: 0, by: -8) {
        all.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
      }
    }
    return all
  }

  /// A keyed archive whose objects, from 1 on, are raw bytes; references in them count from `first`.
  static func archive(root: UInt8, _ objects: (_ first: UInt8) -> [[UInt8]]) -> [UInt8] {
    var list = PropertyListBytes()
    let names = ["$archiver", "NSKeyedArchiver", "$objects", "$top", "root", "$null"].map {
      list.add($0)
    }
    let uid = list.add([0x80, root])
    let first = uid + 1
    let added = objects(first).map { list.add($0) }
    let array = list.add([0xa0 | UInt8(added.count + 1), names[5]] + added)
    let top = list.add([0xd1, names[4], uid])
    let frame = list.add([0xd3, names[0], names[2], names[3], names[1], array, top])
    return list.finished(root: frame)
  }
}

extension PropertyListBytes {
  /// A list with one object.
  static func single(_ object: [UInt8]) -> [UInt8] {
    var list = PropertyListBytes()
    let root = list.add(object)
    return list.finished(root: root)
  }

  /// The reason why bytes are no value.
  static func cause(_ bytes: [UInt8]) -> PropertyListError.Cause? {
    do throws(PropertyListError) {
      _ = try PropertyListValue(binary: bytes)
      return nil
    } catch { return error.cause }
  }
}
