/// A path relative to a directory descriptor: bytes with a terminating NUL, stored without
/// allocation.
///
/// Names on disk are bytes, not Strings. The capacity of 255 bytes is the longest single name that
/// Linux and Apple file systems allow, and longer than any path of the store.
package struct PathName: Sendable {
  /// The longest path in bytes.
  package static let capacity = 255

  private typealias Words = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

  /// 256 bytes, as words: `InlineArray` needs macOS and iOS 26.
  private var storage: (Words, Words, Words, Words) = (
    (0, 0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0, 0, 0)
  )

  /// The number of bytes, without the NUL.
  package private(set) var count = 0

  package init() {}

  /// Creates a path from a literal. The text must not exceed the capacity.
  package init(_ text: StaticString) {
    unsafe append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Creates a path from `bytes`; `nil` if there are too many or none, or if they contain a NUL.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.capacity, !bytes.isEmpty, !bytes.contains(0) else { return nil }
    for byte in bytes { append(byte) }
  }

  @inline(__always)
  package mutating func append(_ byte: UInt8) {
    precondition(count < Self.capacity, "a path of the store is never this long")
    let place = count
    // Safety: `count` is below the capacity, as checked.
    unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0[place] = byte }
    count += 1
  }

  package mutating func append(_ other: PathName) {
    other.withSpan { bytes in
      for index in bytes.indices { append(bytes[index]) }
    }
  }

  package mutating func append(_ text: StaticString) {
    unsafe append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends `digits` lower-case hex digits of `value`, the most significant first.
  package mutating func appendHex(_ value: UInt64, digits: Int) {
    precondition(digits <= 16 && count + digits <= Self.capacity)
    let start = count
    // Safety: `start + digits` is at most the capacity, as checked.
    unsafe withUnsafeMutableBytes(of: &storage) { bytes in
      var rest = value
      var place = start + digits
      while place > start {
        place &-= 1
        let nibble = UInt8(truncatingIfNeeded: rest & 15)
        unsafe bytes[place] = nibble &+ (nibble < 10 ? 48 : 87)
        rest &>>= 4
      }
    }
    count += digits
  }

  private mutating func append(_ text: UnsafeRawBufferPointer) {
    precondition(count + text.count <= Self.capacity, "a path of the store is never this long")
    let start = count
    // Safety: `start + text.count` is at most the capacity, as checked.
    unsafe withUnsafeMutableBytes(of: &storage) {
      unsafe UnsafeMutableRawBufferPointer(rebasing: $0[start...]).copyMemory(from: text)
    }
    count += text.count
  }

  /// Returns the value of the 1 to 16 lower-case hex digits in `range`; `nil` if the range is not
  /// within the path or contains anything else.
  ///
  /// - Complexity: O(digits), without allocation.
  package func hex(in range: Range<Int>) -> UInt64? {
    guard range.lowerBound >= 0, range.upperBound <= count, 1...16 ~= range.count
    else { return nil }
    var value: UInt64 = 0
    return withSpan { bytes in
      for index in range {
        let byte = bytes[index]
        switch byte {
        case 48...57: value = value &<< 4 | UInt64(byte &- 48)
        case 97...102: value = value &<< 4 | UInt64(byte &- 87)
        default: return nil
        }
      }
      return value
    }
  }

  /// Returns whether the path ends with `text`, which is ASCII.
  ///
  /// - Complexity: O(length of `text`), without allocation.
  package func hasSuffix(_ text: StaticString) -> Bool {
    let start = count - text.utf8CodeUnitCount
    guard start >= 0 else { return false }
    // Safety: the literal has `utf8CodeUnitCount` bytes.
    let suffix = unsafe UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    return withSpan { bytes in
      suffix.indices.allSatisfy { unsafe bytes[start + $0] == suffix[$0] }
    }
  }

  /// The bytes, without the NUL.
  package var bytes: [UInt8] { withSpan { bytes in bytes.indices.map { bytes[$0] } } }

  /// The path for messages; invalid UTF-8 is replaced.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Calls `body` with the bytes, without the NUL; they are valid for the call only.
  @inline(__always)
  private func withSpan<R>(_ body: (Span<UInt8>) -> R) -> R {
    // Safety: the storage has 256 bytes, `count` is at most 255, and `body` cannot store the span.
    unsafe withUnsafeBytes(of: storage) {
      unsafe body(Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: $0[..<count])))
    }
  }

  /// Calls `body` with the NUL-terminated bytes, which are valid for the call only.
  @inline(__always)
  func withCString<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
    // Safety: the storage is 256 bytes with a NUL after `count` <= 255, and does not escape.
    unsafe withUnsafePointer(to: storage) {
      unsafe body(UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
    }
  }
}
