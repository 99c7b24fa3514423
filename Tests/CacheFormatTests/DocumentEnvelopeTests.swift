import TestSupport
import Testing

@testable import CacheFormat

@Suite struct DocumentEnvelopeTests {
  private static let seed: UInt64 = 7

  /// Makes a document with one member.
  private static func document(_ number: UInt64 = 12) -> [UInt8] {
    var writer = JSONWriter()
    writer.append("{\n \"format\": ")
    writer.appendInteger(number)
    DocumentEnvelope.seal(&writer, seed: seed)
    return writer.bytes
  }

  /// Reads the member of a document.
  private func read(
    _ bytes: [UInt8], maximumBytes: Int = 1_000, seed: UInt64 = seed
  ) throws(FormatError) -> UInt64? {
    var number: UInt64?
    let count = try DocumentEnvelope.read(bytes, maximumBytes: maximumBytes, seed: seed) {
      (reader, name) throws(FormatError) in
      if name == "format" { number = try reader.readUnsigned() } else { try reader.skipValue() }
    }
    #expect(count == bytes.count)
    return number
  }

  private func refusal(_ bytes: [UInt8], seed: UInt64 = seed) -> FormatError.Code? {
    do throws(FormatError) {
      _ = try read(bytes, seed: seed)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `what was sealed is read`() throws {
    #expect(try read(Self.document()) == 12)
    #expect(refusal(Self.document(), seed: 8) == .wrongChecksum)
    #expect(!DocumentEnvelope.isTorn(Self.document()))
  }

  @Test func `a document that was cut is torn, and never read`() {
    let whole = Self.document()
    for count in 0..<whole.count {
      let cut = Array(whole[..<count])
      #expect(refusal(cut) == .incomplete, "\(count) bytes")
      #expect(DocumentEnvelope.isTorn(cut), "\(count) bytes")
    }
    for tail in ["\n", " ", "}", "\0"] { #expect(refusal(whole + Array(tail.utf8)) == .incomplete) }
  }

  @Test func `a bit that was flipped is found wherever it is`() {
    let whole = Self.document()
    for index in whole.indices {
      for bit in 0..<8 {
        var bytes = whole
        bytes[index] ^= 1 << bit
        let code = refusal(bytes)
        #expect(code == .wrongChecksum || code == .incomplete, "bit \(bit) of byte \(index)")
      }
    }
  }

  @Test func `a page of zeros is torn, although the suffix is there`() {
    var bytes = Self.document()
    bytes.replaceSubrange(2..<6, with: [0, 0, 0, 0])
    #expect(DocumentEnvelope.isTorn(bytes))
    #expect(refusal(bytes) == .wrongChecksum)
  }

  @Test func `a checksum in upper case is no checksum`() {
    let text = String(decoding: Self.document(), as: UTF8.self)
    let changed = text.split(separator: "\"").map { part in
      part.count == 16 ? part.uppercased() : String(part)
    }.joined(separator: "\"")
    #expect(changed != text)
    #expect(refusal(Array(changed.utf8)) == .incomplete)
  }

  @Test func `a document that is too long is refused before it is read`() throws {
    let bytes = Self.document()
    #expect(try read(bytes, maximumBytes: bytes.count) == 12)
    let error = #expect(throws: FormatError.self) {
      try read(bytes, maximumBytes: bytes.count - 1)
    }
    #expect(error?.code == .tooLarge && error?.offset == bytes.count - 1)
  }

  @Test(
    arguments: [(0, .outOfBounds), (1, nil), (3, nil), (4, .newerFormat), (.max, .newerFormat)]
      as [(UInt64, FormatError.Code?)])
  func `formats from 1 to the newest are read`(format: UInt64, expected: FormatError.Code?) {
    var code: FormatError.Code?
    do throws(FormatError) {
      try DocumentEnvelope.check(format: format, newest: 3, at: 5)
    } catch {
      code = error.code
      #expect(error.offset == 5)
    }
    #expect(code == expected)
  }
}
