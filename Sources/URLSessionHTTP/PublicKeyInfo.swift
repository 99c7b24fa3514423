enum PublicKeyInfo {
  /// Returns the `SubjectPublicKeyInfo` of a certificate in DER (RFC 5280, section 4.1), with its tag
  /// and length, or `nil` if the certificate is damaged.
  static func of(certificate: [UInt8]) -> ArraySlice<UInt8>? {
    var outer = DERReader(certificate[...])
    guard let whole = outer.next(DERReader.sequence), outer.isAtEnd else { return nil }
    var parts = DERReader(whole.content)
    guard let signed = parts.next(DERReader.sequence) else { return nil }
    var fields = DERReader(signed.content)
    // The version, which is not there in version 1, and the serial number.
    guard let first = fields.next() else { return nil }
    if first.tag == DERReader.version {
      guard fields.next(DERReader.integer) != nil else { return nil }
    } else if first.tag != DERReader.integer {
      return nil
    }
    // Signature algorithm, issuer, validity, subject.
    for _ in 0..<4 where fields.next(DERReader.sequence) == nil { return nil }
    return fields.next(DERReader.sequence)?.whole
  }
}

/// Reads the elements of one level of DER (X.690), one after the other.
private struct DERReader {
  static let sequence: UInt8 = 0x30
  static let integer: UInt8 = 0x02
  /// The explicit tag 0.
  static let version: UInt8 = 0xA0

  struct Element {
    let tag: UInt8
    /// The bytes with tag and length.
    let whole: ArraySlice<UInt8>
    let content: ArraySlice<UInt8>
  }

  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func next(_ tag: UInt8) -> Element? { next().flatMap { $0.tag == tag ? $0 : nil } }

  /// Returns the next element, or `nil` at the end and if its length is wrong.
  mutating func next() -> Element? {
    guard let tag = rest.first, let first = rest.dropFirst().first else { return nil }
    var head = 2
    var count = Int(first)
    if first >= 0x80 {
      let digits = Int(first & 0x7F)
      guard (1...4).contains(digits), rest.count >= 2 + digits else { return nil }
      count = rest.dropFirst(2).prefix(digits).reduce(0) { $0 << 8 | Int($1) }
      head += digits
    }
    guard rest.count - head >= count else { return nil }
    let whole = rest.prefix(head + count)
    rest = rest.dropFirst(head + count)
    return Element(tag: tag, whole: whole, content: whole.dropFirst(head))
  }
}
