/// The value of one selecting request field when a response was made (RFC 9111, section 4.1).
public struct SelectedField: Sendable, Hashable {
  /// The name in lower case.
  public let name: String

  /// The normalised value; `nil` if the request had no such field.
  ///
  /// The values of credentials are concealed.
  public let value: [UInt8]?

  /// Creates a field from the stored values of a ``Selection``; the name is changed to lower case.
  public init(name: String, value: [UInt8]?) {
    self.name = ASCII.lowercased(name.utf8)
    self.value = value
  }
}

/// The requests that a stored response may answer: those in which the fields that `Vary` names have
/// the same values as in its own request (RFC 9111, section 4.1).
public struct Selection: Sendable, Hashable {
  /// The maximum number of fields; a response with more is never stored.
  public static let maximumFields = 64

  /// The maximum length of a value in bytes; a longer one is kept in its concealed form.
  public static let maximumValueLength = 1024

  /// The fields, sorted by name, without duplicates.
  public let fields: [SelectedField]

  /// A selection that matches every request: the response had no `Vary`.
  public static let none = Selection(fields: [])

  /// Creates a selection from its stored fields.
  public init(fields: [SelectedField]) {
    self.fields = fields.sorted { $0.name < $1.name }
  }

  /// Creates the selection of a response to a request.
  ///
  /// Returns `nil` if the response can never answer another request: `Vary` has a member that is
  /// `*` or not a field name, or there are more than ``maximumFields`` names.
  ///
  /// - Parameters:
  ///   - response: The fields of the response with all its `Vary` lines.
  ///   - request: The fields of the request that was sent.
  ///   - implicit: Additional names of selecting fields.
  ///   - conceal: Converts a value to bytes that do not reveal it; equal values give equal bytes.
  public init?(
    varyOf response: HTTPFields, request: HTTPFields, and implicit: [String] = [],
    conceal: ([UInt8]) -> [UInt8]
  ) {
    var names = Set(implicit.map { ASCII.lowercased($0.utf8) })
    for field in response where field.isNamed("Vary") {
      for member in field.value.split(separator: UInt8(ascii: ",")) {
        let name = FieldBytes.trimmed(member)
        if name.isEmpty { continue }
        // A member that is not a name could stand for any field, like "*". (As "*" is a token, it
        // needs a check of its own.)
        guard name.allSatisfy(ASCII.isTokenByte), !name.elementsEqual("*".utf8) else { return nil }
        names.insert(ASCII.lowercased(name))
        guard names.count <= Self.maximumFields else { return nil }
      }
    }
    self.init(
      fields: names.map { name in
        SelectedField(name: name, value: SelectingValue.kept(name, in: request, conceal: conceal))
      })
  }

  /// Returns whether the response may answer a request.
  ///
  /// - Parameters:
  ///   - request: The fields of the request.
  ///   - conceal: The same function as in the initializer.
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
    // There is almost always only one line, and it is often in normal form already.
    if request[first].value == value, request.firstIndex(named: field.name, from: first + 1) == nil,
      !SelectingValue.isConcealed(field.name, length: value.count)
    {
      return true
    }
    return SelectingValue.kept(field.name, in: request, conceal: conceal) == value
  }
}
