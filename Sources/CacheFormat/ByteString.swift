/// A string of bytes that is usually, but not always, UTF-8 text: keys, header fields, tags.
///
/// HTTP field values and file names are bytes. Most are UTF-8, but none has to be. Strings are
/// compared, ordered and hashed by their bytes: the composed and the decomposed form of a character
/// are two different byte strings.
public struct ByteString: Sendable {
  /// The bytes, without a terminator.
  public var bytes: [UInt8]

  /// Creates a byte string from the UTF-8 form of `string`.
  ///
  /// - Complexity: O(length).
  @inlinable
  public init(_ string: String) {
    bytes = Array(string.utf8)
  }

  /// Creates a byte string that owns `bytes`; nothing is checked or copied.
  @inlinable
  public init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The number of bytes.
  @inlinable
  public var count: Int { bytes.count }

  /// Whether there are no bytes.
  @inlinable
  public var isEmpty: Bool { bytes.isEmpty }

  /// The text, or `nil` if the bytes are not valid UTF-8.
  ///
  /// - Complexity: O(length).
  public var string: String? {
    String(validating: bytes, as: UTF8.self)
  }

  /// Returns whether the string starts with the bytes of `prefix`; true for the empty prefix.
  ///
  /// - Complexity: O(length of the prefix).
  package func hasPrefix(_ prefix: ByteString) -> Bool {
    guard prefix.count <= count else { return false }
    return unsafe bytes.withUnsafeBytes { whole in
      unsafe prefix.bytes.withUnsafeBytes { start in
        // Safety: `start` is no longer than `whole`, checked above; both arrays are held.
        unsafe equalBytes(whole.baseAddress, start.baseAddress, start.count)
      }
    }
  }
}

extension ByteString: Hashable {
  /// Compares byte by byte.
  ///
  /// - Complexity: O(length).
  public static func == (a: ByteString, b: ByteString) -> Bool {
    guard a.count == b.count else { return false }
    return unsafe a.bytes.withUnsafeBytes { left in
      unsafe b.bytes.withUnsafeBytes { right in
        // Safety: both buffers have the same length, checked above, and both arrays are held.
        unsafe equalBytes(left.baseAddress, right.baseAddress, left.count)
      }
    }
  }

  /// Feeds all bytes to the hasher in one piece.
  ///
  /// - Complexity: O(length).
  public func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    // Safety: the hasher only reads the bytes of the array, which is held meanwhile.
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
  }
}

extension ByteString: Comparable {
  /// Orders by the first byte that differs, as an unsigned number; a prefix comes first.
  ///
  /// - Complexity: O(length).
  public static func < (a: ByteString, b: ByteString) -> Bool {
    a.bytes.lexicographicallyPrecedes(b.bytes)
  }
}

extension ByteString: ExpressibleByStringLiteral {
  /// Creates a byte string from the UTF-8 form of a literal.
  @inlinable
  public init(stringLiteral value: String) {
    self.init(value)
  }
}

/// A key or tag may be written as `"user/\(id)"`.
extension ByteString: ExpressibleByStringInterpolation {}

extension ByteString: CustomStringConvertible {
  /// The text for people; bytes that are not valid UTF-8 are replaced by U+FFFD.
  public var description: String {
    String(decoding: bytes, as: UTF8.self)
  }
}

/// Compares `count` bytes, eight at a time: keys are compared on every hit.
func equalBytes(
  _ a: UnsafeRawPointer?, _ b: UnsafeRawPointer?, _ count: Int
) -> Bool {
  guard let a = unsafe a, let b = unsafe b else { return count == 0 }
  if unsafe a == b { return true }
  var offset = 0
  // Safety: the callers guarantee `count` bytes at both addresses; no load goes past them.
  while offset + 8 <= count {
    let left = unsafe a.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    let right = unsafe b.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    if left != right { return false }
    offset += 8
  }
  while offset < count {
    let left = unsafe a.load(fromByteOffset: offset, as: UInt8.self)
    let right = unsafe b.load(fromByteOffset: offset, as: UInt8.self)
    if left != right { return false }
    offset += 1
  }
  return true
}
