/// The fields of a message in their order; lines with the same name are separate elements.
///
/// Whether lines may be joined depends on the field (RFC 9110, section 5.3): `Cache-Control` may be
/// joined, `Set-Cookie` must not. So the lines are kept as they were received, and the reader
/// decides.
public struct HTTPFields: Sendable, Hashable, ExpressibleByArrayLiteral {
  private var fields: [HTTPField]

  /// Creates a list of fields, in their order.
  public init(_ fields: [HTTPField] = []) {
    self.fields = fields
  }

  /// Creates a list of fields, in their order.
  public init(arrayLiteral elements: HTTPField...) {
    self.init(elements)
  }

  /// Returns all fields with a name, in their order.
  ///
  /// - Complexity: O(*n*) in the number of fields.
  public func all(named name: String) -> [HTTPField] {
    fields.filter { $0.isNamed(name) }
  }

  /// Returns the index of the first field with a name, or `nil`.
  ///
  /// The search goes through a span and copies no field, because copying takes most of the time of
  /// such a loop: a cache searches for a dozen names in every request.
  ///
  /// - Parameters:
  ///   - name: The name, in any case.
  ///   - start: The index at which to start; 0 to ``endIndex``.
  /// - Complexity: O(*n*) in the number of fields.
  public func firstIndex(named name: String, from start: Int = 0) -> Int? {
    // `Array.span` needs macOS and iOS 26; that of a slice does not.
    let slice = fields[...]
    let lines = slice.span
    let length = name.utf8.count
    for index in start..<lines.count
    where lines[index].name.utf8.count == length && lines[index].isNamed(name) {
      return index
    }
    return nil
  }

  /// Returns the first field with a name, or `nil`.
  public func first(named name: String) -> HTTPField? {
    firstIndex(named: name).map { fields[$0] }
  }

  /// Returns the only field with a name; `nil` if there is none, or more than one.
  func only(named name: String) -> HTTPField? {
    guard let index = firstIndex(named: name), firstIndex(named: name, from: index + 1) == nil
    else { return nil }
    return fields[index]
  }

  /// The number in the first `Content-Length` (RFC 9110, section 8.6); `nil` if there is none, if
  /// it has anything but digits, or if it is beyond 2^63 - 1.
  package var contentLength: UInt64? {
    first(named: "Content-Length").flatMap { FieldBytes.number($0.value[...]) }
  }

  /// Returns whether there is a field with a name.
  public func contains(_ name: String) -> Bool {
    firstIndex(named: name) != nil
  }

  /// Returns whether there is a field for whose name `accepts` returns true. Copies no field; see
  /// ``firstIndex(named:from:)``.
  ///
  /// - Complexity: O(*n*) in the number of fields.
  func containsName(where accepts: (String) -> Bool) -> Bool {
    let slice = fields[...]
    let lines = slice.span
    for index in lines.indices where accepts(lines[index].name) { return true }
    return false
  }

  /// Returns the values of all fields with a name, joined with `, ` (RFC 9110, section 5.3), or
  /// `nil` if there are none.
  ///
  /// Only for fields whose value is a list; never for `Set-Cookie`.
  public func combinedValue(of name: String) -> [UInt8]? {
    let lines = all(named: name)
    return lines.isEmpty ? nil : Array(lines.map(\.value).joined(separator: Array(", ".utf8)))
  }

  /// The codings of `Content-Encoding` in the order in which they were applied, without `identity` and
  /// empty names; `nil` if there are none.
  package var contentCodings: [String]? {
    guard let codings = combinedValue(of: "Content-Encoding") else { return nil }
    let names = String(decoding: codings, as: UTF8.self).split(separator: ",")
      .map { String($0.filter { $0 != " " && $0 != "\t" }) }
      .filter { !["", "identity"].contains($0.lowercased()) }
    return names.isEmpty ? nil : names
  }

  /// Adds a field at the end.
  public mutating func append(_ field: HTTPField) {
    fields.append(field)
  }

  /// Adds fields at the end, in their order.
  public mutating func append(contentsOf added: [HTTPField]) {
    fields += added
  }

  /// Replaces all fields that have the name of `field` by `field`.
  public mutating func replace(with field: HTTPField) {
    removeAll(named: field.name)
    fields.append(field)
  }

  /// Removes all fields with a name.
  public mutating func removeAll(named name: String) {
    guard contains(name) else { return }
    fields.removeAll { $0.isNamed(name) }
  }
}

extension HTTPFields: RandomAccessCollection {
  /// The index of the first field: 0.
  public var startIndex: Int { fields.startIndex }

  /// The index after the last field: the number of fields.
  public var endIndex: Int { fields.endIndex }

  /// Returns the field at an index.
  public subscript(index: Int) -> HTTPField { fields[index] }
}
