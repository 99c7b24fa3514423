internal import CacheFormat
internal import HTTPSemantics

/// The location of the references of an array, a set or a dictionary.
struct References {
  let start: Int
  let count: Int
}

/// One object. The elements of containers are not read; bytes and text are not copied.
enum PropertyListObject {
  case null
  case bool(Bool)
  case integer(Int128)
  case real(Double)
  /// Seconds since 2001.
  case date(Double)
  case data(Range<Int>)
  case ascii(Range<Int>)
  case utf16(Range<Int>)
  case uid(Int)
  case array(References)
  /// A dictionary with `count` references to keys, followed by as many to values.
  case dictionary(References)
}

extension BinaryPropertyList {
  /// Parses the head of an object.
  func object(_ number: Int) throws(PropertyListError) -> PropertyListObject {
    let offset = try offset(of: number)
    let marker = bytes[offset]
    let low = Int(marker & 0x0f)
    switch marker >> 4 {
    case 0x0: return try simple(marker, at: offset)
    case 0x1: return .integer(try integer(at: offset + 1, power: low))
    case 0x2: return .real(try real(at: offset + 1, power: low))
    case 0x3 where low == 3: return .date(try real(at: offset + 1, power: low))
    case 0x4: return .data(try range(at: offset, low, unit: 1))
    case 0x5: return .ascii(try range(at: offset, low, unit: 1))
    case 0x6: return .utf16(try range(at: offset, low, unit: 2))
    case 0x8: return .uid(try uid(at: offset + 1, size: low + 1))
    case 0xa, 0xb, 0xc:
      let place = try range(at: offset, low, unit: referenceSize)
      return .array(References(start: place.lowerBound, count: place.count / referenceSize))
    case 0xd:
      let place = try range(at: offset, low, unit: 2 * referenceSize)
      return .dictionary(
        References(start: place.lowerBound, count: place.count / (2 * referenceSize)))
    default: throw PropertyListError(.badObject, at: offset)
    }
  }

  /// Returns the text of an ASCII or UTF-16 string. Malformed parts are replaced by U+FFFD.
  func text(
    _ object: PropertyListObject, _ budget: inout PropertyListBudget
  ) throws(PropertyListError) -> String? {
    switch object {
    case .ascii(let range):
      try budget.spend(bytes: range.count)
      // UTF-8 is not part of the format, but some writers use it here.
      return String(decoding: bytes[range], as: UTF8.self)
    case .utf16(let range):
      try budget.spend(bytes: range.count)
      let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map {
        UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
      }
      return String(decoding: units, as: UTF16.self)
    default: return nil
    }
  }

  /// Returns whether an ASCII string is equal to a text. The comparison starts at the end, because
  /// the keys of an archive begin alike and differ in a number.
  func isText(_ range: Range<Int>, _ text: String) -> Bool {
    text.withUTF8Span { wanted in
      guard range.count == wanted.count else { return false }
      var index = wanted.count
      while index > 0 {
        index -= 1
        if bytes[range.lowerBound + index] != wanted[index] { return false }
      }
      return true
    }
  }

  private func simple(_ marker: UInt8, at offset: Int) throws(PropertyListError)
    -> PropertyListObject
  {
    switch marker {
    case 0x00: return .null
    case 0x08: return .bool(false)
    case 0x09: return .bool(true)
    default: throw PropertyListError(.badObject, at: offset)
    }
  }

  /// Parses an integer: 1, 2 or 4 bytes are unsigned, 8 or 16 are signed.
  private func integer(at start: Int, power: Int) throws(PropertyListError) -> Int128 {
    guard power <= 4, start + 1 << power <= objectsEnd else {
      throw PropertyListError(.badObject, at: start)
    }
    let size = 1 << power
    if size <= 4 { return Int128(Self.unsigned(bytes, start, size)) }
    let first = Self.unsigned(bytes, start, 8)
    if size == 8 { return Int128(Int64(bitPattern: first)) }
    return Int128(Int64(bitPattern: first)) << 64 | Int128(Self.unsigned(bytes, start + 8, 8))
  }

  private func real(at start: Int, power: Int) throws(PropertyListError) -> Double {
    guard power == 2 || power == 3, start + 1 << power <= objectsEnd else {
      throw PropertyListError(.badObject, at: start)
    }
    let bits = Self.unsigned(bytes, start, 1 << power)
    return power == 3
      ? Double(bitPattern: bits) : Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
  }

  private func uid(at start: Int, size: Int) throws(PropertyListError) -> Int {
    guard size <= 8, start + size <= objectsEnd,
      let number = Int(exactly: Self.unsigned(bytes, start, size))
    else { throw PropertyListError(.badObject, at: start) }
    return number
  }

  /// Returns the range of an object's content: after its marker, or after the integer that has a
  /// count of 15 or more.
  private func range(
    at offset: Int, _ low: Int, unit: Int
  ) throws(PropertyListError) -> Range<Int> {
    var start = offset + 1
    var count = low
    if low == 15 {
      guard start < objectsEnd, bytes[start] >> 4 == 1 else {
        throw PropertyListError(.badObject, at: offset)
      }
      let power = Int(bytes[start] & 0x0f)
      let number = try integer(at: start + 1, power: power)
      start += 1 + 1 << power
      guard let fitting = Int(exactly: number), fitting >= 0 else {
        throw PropertyListError(.badObject, at: offset)
      }
      count = fitting
    }
    guard count <= (objectsEnd - start) / unit else {
      throw PropertyListError(.badObject, at: offset)
    }
    return start..<start + count * unit
  }
}
