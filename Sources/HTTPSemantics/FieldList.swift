/// The fields of a response that `no-cache` or `private` applies to (RFC 9111, sections 5.2.2.4 and
/// 5.2.2.7).
public enum FieldList: Sendable, Hashable {
  /// The directive is absent.
  case absent
  /// The directive applies to the whole response.
  case all
  /// The directive applies to these fields only; names in lower case, at least one.
  case fields([String])

  /// The maximum number of names; with more, the directive applies to the whole response.
  public static let maximumNames = 64

  /// Whether the directive applies to the whole response.
  public var isAll: Bool { self == .all }

  /// Returns whether the directive names a field, without regard to case.
  ///
  /// False for ``all``, which names no field.
  public func names(_ field: String) -> Bool {
    guard case .fields(let names) = self else { return false }
    return names.contains { ASCII.equalsIgnoringCase($0, field) }
  }

  /// Adds another occurrence of the directive: the result restricts everything that either of them
  /// restricts.
  mutating func add(_ other: FieldList) {
    switch (self, other) {
    case (.all, _), (_, .absent): break
    case (.absent, _), (_, .all): self = other
    case (.fields(let names), .fields(let more)):
      let added = names + more.filter { !names.contains($0) }
      self = added.count <= Self.maximumNames ? .fields(added) : .all
    }
  }

  /// Reads the argument of a directive: field names separated by commas.
  ///
  /// If the argument is not such a list, the directive applies to the whole response, which is the
  /// safe interpretation.
  init(argument bytes: Span<UInt8>, in range: Range<Int>) {
    var names: [String] = []
    var start = range.lowerBound
    while start <= range.upperBound {
      var end = start
      while end < range.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
      let name = ListSyntax.trimmed(bytes, start..<end)
      start = end + 1
      if name.isEmpty { continue }
      var text: [UInt8] = []
      for index in name {
        guard ASCII.isTokenByte(bytes[index]) else {
          self = .all
          return
        }
        text.append(ASCII.lowercased(bytes[index]))
      }
      names.append(String(decoding: text, as: UTF8.self))
      guard names.count <= Self.maximumNames else { break }
    }
    self = names.isEmpty || names.count > Self.maximumNames ? .all : .fields(names)
  }
}
