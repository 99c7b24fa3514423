/// The identifier of one state of a representation, from an `ETag` field (RFC 9110, section 8.8.3).
///
/// Some origins send malformed tags, such as `abcdef` without quotation marks. Their bytes are
/// kept, so that a client can send them back. Such a tag matches only the same bytes, and is never
/// strong.
public struct EntityTag: Sendable, Hashable {
  /// The maximum length of a tag in bytes; a longer one counts as absent.
  public static let maximumLength = 4096

  /// The tag as it was received, without surrounding white space.
  public let bytes: [UInt8]

  /// Whether the tag has the form `[W/]"..."`.
  public let isWellFormed: Bool

  /// Whether the tag starts with `W/`: equal tags mean equivalent content, not equal bytes.
  public let isWeak: Bool

  /// Reads the value of an `ETag` field, or one member of `If-None-Match`.
  ///
  /// `nil` if it is empty, longer than ``maximumLength``, or contains a control character, so that
  /// it could not be sent back.
  ///
  /// - Complexity: O(*n*) in the length of the value.
  public init?(_ value: [UInt8]) {
    self.init(value[...])
  }

  init?(_ value: ArraySlice<UInt8>) {
    let trimmed = FieldBytes.trimmed(value)
    guard !trimmed.isEmpty, trimmed.count <= Self.maximumLength,
      !trimmed.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else { return nil }
    bytes = Array(trimmed)
    isWellFormed = Self.opaqueTag(of: trimmed) != nil
    isWeak = isWellFormed && Self.hasWeakPrefix(trimmed)
  }

  /// Whether the tag can identify exact bytes: well-formed and not weak.
  public var isStrong: Bool { isWellFormed && !isWeak }

  /// Compares strongly: both are strong and identical (RFC 9110, section 8.8.3.2).
  public func matchesStrongly(_ other: EntityTag) -> Bool {
    isStrong && bytes == other.bytes
  }

  /// Compares weakly: identical except for `W/` (RFC 9110, section 8.8.3.2).
  public func matchesWeakly(_ other: EntityTag) -> Bool {
    matchesWeakly(other.bytes[...])
  }

  func matchesWeakly(_ other: ArraySlice<UInt8>) -> Bool {
    guard isWellFormed else { return bytes[...] == other }
    let opaque = isWeak ? bytes.dropFirst(2) : bytes[...]
    guard let otherOpaque = Self.opaqueTag(of: other) else { return false }
    return opaque == otherOpaque
  }

  /// Returns whether a line of `If-None-Match` or `If-Match` is `*`, or has a member for which
  /// `accepts` returns true.
  ///
  /// A tag is enclosed in quotation marks, but a backslash in it is an ordinary byte (RFC 9110,
  /// section 8.8.3), so the parser for lists with quoted strings cannot be used.
  static func list(
    _ line: [UInt8], isAnyOrHas accepts: (ArraySlice<UInt8>) -> Bool
  ) -> Bool {
    var start = 0
    var isQuoted = false
    for index in 0...line.count {
      if index < line.count {
        if line[index] == UInt8(ascii: "\"") { isQuoted.toggle() }
        if isQuoted || line[index] != UInt8(ascii: ",") { continue }
      }
      let member = FieldBytes.trimmed(line[start..<index])
      start = index + 1
      if member.count == 1, member.first == UInt8(ascii: "*") { return true }
      if !member.isEmpty, accepts(member) { return true }
    }
    return false
  }

  private static func hasWeakPrefix(_ tag: ArraySlice<UInt8>) -> Bool {
    tag.count >= 2 && tag[tag.startIndex] == UInt8(ascii: "W")
      && tag[tag.startIndex + 1] == UInt8(ascii: "/")
  }

  /// Returns the part in quotation marks, including these; `nil` if the tag is malformed.
  private static func opaqueTag(of tag: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let opaque = hasWeakPrefix(tag) ? tag.dropFirst(2) : tag
    guard opaque.count >= 2, opaque.first == UInt8(ascii: "\""),
      opaque.last == UInt8(ascii: "\""),
      opaque.dropFirst().dropLast().allSatisfy({ byte in
        byte > 0x20 && byte != UInt8(ascii: "\"")
      })
    else { return nil }
    return opaque
  }
}
