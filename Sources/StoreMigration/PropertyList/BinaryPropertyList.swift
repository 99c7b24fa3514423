/// Reads a binary property list, one object at a time (CoreFoundation's CFBinaryPList.c; the format
/// has no other specification).
///
///     bplist0?  objects  offset table  6 unused  offset size  reference size
///     8 bytes                                    1            1
///               number of objects  number of the root  start of the offset table
///               8                  8                   8
///
/// Every offset, count and reference is checked against the bytes before anything is read or
/// allocated. References are followed only on request.
struct BinaryPropertyList {
  private static let headerLength = 8
  private static let trailerLength = 32

  let bytes: [UInt8]
  private let count: Int
  private let offsetSize: Int
  private let tableStart: Int
  let referenceSize: Int

  let root: Int

  /// Parses header and trailer.
  init(_ bytes: [UInt8]) throws(PropertyListError) {
    guard bytes.count <= PropertyListBudget.maximumBytes else { throw PropertyListError(.tooMuch) }
    guard bytes.count >= Self.headerLength + Self.trailerLength, bytes.starts(with: "bplist0".utf8)
    else { throw PropertyListError(.notBinary) }
    self.bytes = bytes
    let trailer = bytes.count - Self.trailerLength
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    let objects = Self.unsigned(bytes, trailer + 8, 8)
    let root = Self.unsigned(bytes, trailer + 16, 8)
    let start = Self.unsigned(bytes, trailer + 24, 8)
    let sizes = 1...8
    guard sizes.contains(offsetSize), sizes.contains(referenceSize), objects > 0, root < objects,
      start >= UInt64(Self.headerLength), start <= UInt64(trailer),
      objects <= (UInt64(trailer) - start) / UInt64(offsetSize)
    else { throw PropertyListError(.badTrailer, at: trailer) }
    // The conversions cannot fail: both are below the number of bytes.
    count = Int(objects)
    self.root = Int(root)
    tableStart = Int(start)
  }

  /// Returns the offset of an object, which is before the offset table.
  func offset(of object: Int) throws(PropertyListError) -> Int {
    guard object >= 0, object < count else { throw PropertyListError(.outside) }
    let place = tableStart + object * offsetSize
    let offset = Self.unsigned(bytes, place, offsetSize)
    guard offset >= UInt64(Self.headerLength), offset < UInt64(tableStart) else {
      throw PropertyListError(.outside, at: place)
    }
    return Int(offset)
  }

  var objectsEnd: Int { tableStart }

  /// Returns the number of the `index`-th object that a container refers to.
  func element(_ index: Int, of references: References) throws(PropertyListError) -> Int {
    let place = references.start + index * referenceSize
    let number = Self.unsigned(bytes, place, referenceSize)
    guard number < UInt64(count) else { throw PropertyListError(.outside, at: place) }
    return Int(number)
  }

  /// Returns a number of 1 to 8 bytes, the most significant first; the caller has checked the
  /// range.
  static func unsigned(_ bytes: [UInt8], _ start: Int, _ size: Int) -> UInt64 {
    var value: UInt64 = 0
    for index in start..<start + size { value = value << 8 | UInt64(bytes[index]) }
    return value
  }
}
