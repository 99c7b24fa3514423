/// The parts that all documents of a store have in common: the first members, and the checksum at
/// the end.
///
/// The first line is `{`, and the second is the member `format`. The last member is `checksum`, in
/// a suffix of fixed length. Later formats keep this layout, so that every version can distinguish
/// a newer document from a damaged one.
package enum DocumentEnvelope {
  /// The number of bytes of the suffix: `,\n "checksum": "` + 16 digits + `"\n}\n`.
  static let suffixLength = beforeDigits.count + 16 + afterDigits.count

  private static let beforeDigits = Array(",\n \"checksum\": \"".utf8)
  private static let afterDigits = Array("\"\n}\n".utf8)

  /// Appends the suffix. The checksum covers everything that was written before it.
  package static func seal(_ writer: inout JSONWriter, seed: UInt64) {
    let checksum = Checksum.of(writer.bytes, seed: seed)
    writer.append(",\n \"checksum\": ")
    writer.appendHex(checksum)
    writer.append("\n}\n")
  }

  /// Verifies the checksum of a document, then reads the document; `member` reads each member.
  ///
  /// - Returns: the length of the document.
  /// - Throws: ``FormatError`` with `tooLarge`, `incomplete`, `wrongChecksum` or `notJSON`, or the
  ///   error of `member`.
  package static func read(
    _ bytes: [UInt8], maximumBytes: Int, seed: UInt64,
    _ member: (inout JSONReader, _ name: String) throws(FormatError) -> Void
  ) throws(FormatError) -> Int {
    let checksum = try writtenChecksum(of: bytes, maximumBytes: maximumBytes)
    try verify(bytes, against: checksum, seed: seed)
    return try JSONReader.readDocument(bytes, member)
  }

  /// Checks that the suffix is there, and returns the checksum in it.
  ///
  /// - Throws: ``FormatError`` with `tooLarge` or `incomplete`.
  static func writtenChecksum(
    of bytes: [UInt8], maximumBytes: Int
  ) throws(FormatError) -> UInt64 {
    guard bytes.count <= maximumBytes else {
      throw FormatError(
        .tooLarge, at: maximumBytes, "the document has more than \(maximumBytes) bytes")
    }
    let suffix = bytes.suffix(suffixLength)
    guard suffix.count == suffixLength, suffix.starts(with: beforeDigits),
      suffix.suffix(afterDigits.count).elementsEqual(afterDigits),
      let checksum = Hexadecimal.parse(suffix.dropFirst(beforeDigits.count).prefix(16))
    else {
      throw FormatError(
        .incomplete, at: bytes.count, "the document does not end with its checksum")
    }
    return checksum
  }

  /// Returns whether a document was not written to its end, or lacks pages, as a loss of power leaves
  /// files that were not synced: the suffix is missing, or there is a zero byte, which is not JSON.
  package static func isTorn(_ bytes: [UInt8]) -> Bool {
    (try? writtenChecksum(of: bytes, maximumBytes: .max)) == nil || bytes.contains(0)
  }

  /// Checks the bytes before the suffix against the checksum in it.
  ///
  /// - Throws: ``FormatError`` with `wrongChecksum`.
  static func verify(
    _ bytes: [UInt8], against checksum: UInt64, seed: UInt64
  ) throws(FormatError) {
    let covered = bytes.count - suffixLength
    // Safety: `covered` is at least 0 and less than the count, since the suffix was found; the
    // array is held while it is read.
    let actual = unsafe bytes.withUnsafeBytes { buffer in
      unsafe Checksum.of(UnsafeRawBufferPointer(rebasing: buffer[..<covered]), seed: seed)
    }
    guard actual == checksum else {
      throw FormatError(.wrongChecksum, at: covered, "the checksum does not fit the document")
    }
  }

  /// Checks that the format number is at least 1 and at most `newest`.
  ///
  /// - Throws: ``FormatError`` with `newerFormat` or `outOfBounds`.
  package static func check(format: UInt64, newest: UInt64, at offset: Int) throws(FormatError) {
    guard format >= 1 else {
      throw FormatError(.outOfBounds, at: offset, "there is no format 0")
    }
    guard format <= newest else {
      throw FormatError(
        .newerFormat, at: offset, "the document has format \(format), newer than \(newest)")
    }
  }
}
