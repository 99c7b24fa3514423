/// Holds what one selecting request field was when a response was made (RFC 9111, section 4.1).
public struct SelectedField: Sendable, Hashable {
  /// Gives the name in lower case.
  public let name: String

  /// Gives the normalised value; nil: the request had no such field.
  ///
  /// For names that carry credentials this is what concealing made of the value.
  public let value: [UInt8]?

  /// Makes a field from what a ``Selection`` has given before; the name becomes lower case.
  public init(name: String, value: [UInt8]?) {
    self.name = String(decoding: name.utf8.map(ASCII.lowercased), as: UTF8.self)
    self.value = value
  }
}

/// Tells which requests a stored response may answer: those whose fields that `Vary` names have
/// the same values as in the request that it was made for (RFC 9111, section 4.1).
public struct Selection: Sendable, Hashable {
  /// The most fields that one response can be selected by; with more it is never stored.
  public static let maximumFields = 64

  /// The longest value that is kept as it is, in bytes; of a longer one its concealed form is kept.
  public static let maximumValueLength = 1024

  /// Gives the fields, sorted by name, each name once.
  public let fields: [SelectedField]

  /// Selects every request: the response had no `Vary`.
  public static let none = Selection(fields: [])

  /// Makes a selection from the fields of one that was stored.
  public init(fields: [SelectedField]) {
    self.fields = fields.sorted { $0.name < $1.name }
  }

  /// Makes the selection of a response that was received for a request.
  ///
  /// Returns nil if no later request may ever be answered with the response: `Vary` has a member
  /// `*` or one that is no field name, or there are more than ``maximumFields`` names.
  ///
  /// - Parameters:
  ///   - response: The fields of the response with all its `Vary` lines.
  ///   - request: The fields of the request that was sent.
  ///   - implicit: More names to select by.
  ///   - conceal: Maps a value to bytes that do not give it away, the same for the same value.
  public init?(
    varyOf response: HTTPFields, request: HTTPFields, and implicit: [String] = [],
    conceal: ([UInt8]) -> [UInt8]
  ) {
    var names = Set(implicit.map { String(decoding: $0.utf8.map(ASCII.lowercased), as: UTF8.self) })
    for field in response where field.isNamed("Vary") {
      for member in field.value.split(separator: UInt8(ascii: ",")) {
        let name = FieldBytes.trimmed(member)
        if name.isEmpty { continue }
        // What cannot be understood might have named any field, as "*" does. "*" is a token, too.
        guard name.allSatisfy(ASCII.isTokenByte), !name.elementsEqual("*".utf8) else { return nil }
        names.insert(String(decoding: name.map(ASCII.lowercased), as: UTF8.self))
        guard names.count <= Self.maximumFields else { return nil }
      }
    }
    self.init(
      fields: names.map { name in
        SelectedField(name: name, value: SelectingValue.kept(name, in: request, conceal: conceal))
      })
  }

  /// Tells whether a request may be answered with the response.
  ///
  /// - Parameters:
  ///   - request: The fields of the request.
  ///   - conceal: The same mapping as at the making.
  /// - Complexity: O(1) without fields; else O(*n* * *m*) in the fields of both.
  public func matches(_ request: HTTPFields, conceal: ([UInt8]) -> [UInt8]) -> Bool {
    for field in fields where !Self.matches(field, request, conceal: conceal) { return false }
    return true
  }

  private static func matches(
    _ field: SelectedField, _ request: HTTPFields, conceal: ([UInt8]) -> [UInt8]
  ) -> Bool {
    guard let first = request.firstIndex(named: field.name) else { return field.value == nil }
    guard let value = field.value else { return false }
    // Nearly always there is one line, and often it is in normal form already.
    if request[first].value == value, request.firstIndex(named: field.name, from: first + 1) == nil,
      !SelectingValue.isConcealed(field.name, length: value.count)
    {
      return true
    }
    return SelectingValue.kept(field.name, in: request, conceal: conceal) == value
  }
}
