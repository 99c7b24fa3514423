import HTTPSemantics

/// A form that is sent as `application/x-www-form-urlencoded` (WHATWG URL standard, section 5.2):
/// in UTF-8, in the given order; names may be repeated.
public struct URLEncodedForm: Sendable, Hashable {
  /// A name and its value.
  public struct Field: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value.
    public var value: String

    /// Creates a field.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The fields in order.
  public var fields: [Field]

  /// Creates a form.
  public init(_ fields: [Field] = []) { self.fields = fields }

  /// Appends a field.
  public mutating func add(_ name: String, _ value: String) { fields.append(Field(name, value)) }

  /// The encoded form, such as `a=1&b=x+y`; also for the query of a URL.
  public var encoded: String {
    fields.map { "\(Self.encode($0.name))=\(Self.encode($0.value))" }.joined(separator: "&")
  }

  /// The content of a request.
  public var body: UploadBody {
    UploadBody(
      [.bytes(Array(encoded.utf8))], contentType: "application/x-www-form-urlencoded")
  }

  private static func encode(_ text: String) -> String {
    let escaped = PercentEncoding.escaped(text.utf8) {
      ASCII.isUnreserved($0) && $0 != UInt8(ascii: "~") || " *".utf8.contains($0)
    }
    return escaped.replacing(" ", with: "+")
  }
}
