import CacheFormat
import TestSupport
import Testing

@testable import RemoteTier

struct SignedDocumentTests {
  private static let secret = Array("a secret of sixteen bytes".utf8)
  private static let inner = Array("{\"a\":1}".utf8)

  private func code(_ bytes: [UInt8], secret: [UInt8] = secret) -> FormatError.Code? {
    do throws(FormatError) {
      _ = try SignedDocument.decode(bytes, secret: secret)
      return nil
    } catch { return error.code }
  }

  private func outer(_ raw: [UInt8], name: String = "stdoutRaw") -> [UInt8] {
    Array("{\"\(name)\":\"\(Base64.encode(raw))\"}".utf8)
  }

  @Test(arguments: [0, 1, 3])
  func `the inner document comes back, however many bodies there are`(count: Int) throws {
    let bodies = (0..<count).map { number in
      (digest: [UInt8](repeating: UInt8(number), count: 32), length: UInt64.max)
    }
    let bytes = SignedDocument.encode(Self.inner, bodies: bodies, secret: Self.secret)
    #expect(try SignedDocument.decode(bytes, secret: Self.secret) == Self.inner)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.split(separator: "\"sizeBytes\":\"18446744073709551615\"").count == count + 1)
    #expect(code(bytes, secret: Self.secret + [1]) == .wrongChecksum)
    #expect(code(bytes, secret: []) == .wrongChecksum)
  }

  @Test func `a server may write the outer document anew`() throws {
    let bytes = SignedDocument.encode(Self.inner, bodies: [], secret: Self.secret)
    let text = String(decoding: bytes, as: UTF8.self)
    for changed in [
      text.replacing("stdoutRaw", with: "stdout_raw"), text.replacing(":", with: " : "),
      text.replacing("{\"outputFiles\":[]", with: "{\"exitCode\":0,\"x\":[{}]"),
    ] {
      #expect(try SignedDocument.decode(Array(changed.utf8), secret: Self.secret) == Self.inner)
    }
  }

  @Test func `a change of any byte of the signed part is found`() {
    let raw =
      Base64.decode(
        Array(
          String(
            decoding: SignedDocument.encode(Self.inner, bodies: [], secret: Self.secret),
            as: UTF8.self
          ).split(separator: "\"")[5].utf8)) ?? []
    #expect(raw.count == 65 + Self.inner.count && code(outer(raw)) == nil)
    for index in raw.indices {
      for bit in 0..<8 {
        var changed = raw
        changed[index] ^= 1 << bit
        let expected: FormatError.Code = index == 64 ? .missingMember : .wrongChecksum
        #expect(code(outer(changed)) == expected, "bit \(bit) of byte \(index)")
      }
    }
    for count in raw.indices { #expect(code(outer(Array(raw[..<count]))) != nil, "\(count) bytes") }
    #expect(code(outer(raw + [0x20])) == .wrongChecksum)
    // Digits in upper case are other digits.
    let upper = raw[..<64].map { $0 >= 0x61 ? $0 - 0x20 : $0 } + raw[64...]
    #expect(code(outer(upper)) == .wrongChecksum)
  }

  @Test(
    arguments: [
      ("{}", .notJSON), ("{\"a\":1}", .missingMember), ("{\"stdoutRaw\":\"\"}", .missingMember),
      ("{\"stdoutRaw\":\"!\"}", .missingMember), ("{\"stdoutRaw\":1}", .wrongType), ("", .notJSON),
      ("{\"stdoutRaw\":\"\",\"stdoutRaw\":\"\"}", .notJSON),
    ] as [(String, FormatError.Code)])
  func `what has no signed part is refused`(text: String, expected: FormatError.Code) {
    #expect(code(Array(text.utf8)) == expected)
  }

  @Test func `a document that is too long is refused before it is read`() {
    let bytes = [UInt8](repeating: 0x20, count: SharedDocument.maximumBytes + 1)
    #expect(code(bytes) == .tooLarge)
  }

  @Test func `bytes are equal if all of them are`() {
    #expect(SignedDocument.isEqual([], []) && SignedDocument.isEqual([1, 2], [1, 2]))
    #expect(!SignedDocument.isEqual([1, 2], [1]) && !SignedDocument.isEqual([1, 2], [2, 2]))
    #expect(!SignedDocument.isEqual([1, 2], [1, 3]) && !SignedDocument.isEqual([0], []))
  }
}
