import CacheFormat
import HTTPSemantics
import Testing

@testable import HTTPAuthentication

struct CredentialDocumentTests {
  private func space(
    _ url: String = "https://example.org/", realm: String = "inside",
    _ scheme: AuthenticationChallenge.Scheme = .basic
  ) throws -> ProtectionSpace {
    ProtectionSpace(url: try NormalizedURL(url), realm: realm, scheme: scheme)
  }

  private func document() throws -> CredentialDocument {
    var document = CredentialDocument()
    document[try space(.digest)] = .password(user: "älice", password: "pass \"wörd\"\n")
    document[try space("http://[::1]:8080/x", realm: "", .bearer)] = .token("abc.def")
    return document
  }

  private func space(_ scheme: AuthenticationChallenge.Scheme) throws -> ProtectionSpace {
    try space("https://example.org/", realm: "inside", scheme)
  }

  @Test func `these are the bytes`() throws {
    let text = String(decoding: try document().encoded(), as: UTF8.self)
    #expect(
      text == """
        {
         "format": 1,
         "credentials": [
          {"urlScheme": "https", "host": "example.org", "port": 443, "realm": "inside", \
        "scheme": "digest", "user": "älice", "password": "pass \\"wörd\\"\\n"},
          {"urlScheme": "http", "host": "[::1]", "port": 8080, "realm": "", "scheme": "bearer", \
        "token": "abc.def"}
         ],
         "checksum": "2a8359d192696dcc"
        }

        """)
    let empty = String(decoding: try CredentialDocument().encoded(), as: UTF8.self)
    #expect(
      empty == """
        {
         "format": 1,
         "credentials": [],
         "checksum": "ced3195c57a60d50"
        }

        """)
  }

  @Test func `what is written is read`() throws {
    let document = try document()
    let read = try CredentialDocument(decoding: try document.encoded())
    #expect(read == document)
    #expect(read[try space(.digest)]?.persistence == .permanent)
    #expect(read[try space(.basic)] == nil)
    #expect(try CredentialDocument(decoding: try CredentialDocument().encoded()) == .init())
  }

  @Test func `a space has one credential`() throws {
    var document = try document()
    document[try space(.digest)] = .password(user: "bob", password: "b")
    #expect(document[try space(.digest)] == .password(user: "bob", password: "b"))
    document[try space(.digest)] = nil
    document[try space("http://[::1]:8080/", realm: "", .bearer)] = nil
    #expect(document == CredentialDocument())
  }

  @Test func `each damaged byte and each shorter file is refused`() throws {
    let bytes = try document().encoded()
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 0x10
      #expect(throws: FormatError.self, "byte \(index)") {
        try CredentialDocument(decoding: damaged)
      }
      #expect(throws: FormatError.self, "\(index) bytes") {
        try CredentialDocument(decoding: Array(bytes[..<index]))
      }
    }
  }

  @Test(
    arguments: [
      ("\"format\": 2", FormatError.Code.newerFormat), ("\"format\": 0", .outOfBounds),
      ("\"size\": 1", .missingMember),
      ("\"format\": 1,\n \"credentials\": 7", .wrongType),
      ("\"format\": 1,\n \"credentials\": [{}]", .missingMember),
      (
        "\"format\": 1,\n \"credentials\": [{\"urlScheme\": \"ftp\", \"host\": \"h\", \"port\": 1, "
          + "\"realm\": \"\", \"scheme\": \"basic\", \"token\": \"t\"}]", .missingMember
      ),
      (
        "\"format\": 1,\n \"credentials\": [{\"urlScheme\": \"http\", \"host\": \"h\", \"port\": 1, "
          + "\"realm\": \"\", \"scheme\": \"basic\", \"user\": \"u\"}]", .missingMember
      ),
    ])
  func `other content is refused`(content: String, code: FormatError.Code) throws {
    let bytes = Self.sealed(content)
    let error = #expect(throws: FormatError.self) { try CredentialDocument(decoding: bytes) }
    #expect(error?.code == code)
  }

  /// Returns a document with a right checksum.
  static func sealed(_ content: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.append("{\n ")
    writer.append(raw: content)
    DocumentEnvelope.seal(&writer, seed: 0)
    return writer.bytes
  }

  @Test func `the number and the length of the credentials are limited`() throws {
    let entries = (0..<CredentialDocument.maximumCount).map {
      "{\"urlScheme\": \"http\", \"host\": \"h\", \"port\": 1, \"realm\": \"\($0)\", "
        + "\"scheme\": \"bearer\", \"token\": \"t\"}"
    }
    func sealed(_ entries: [String]) -> [UInt8] {
      Self.sealed(
        "\"format\": 1,\n \"credentials\": [\n  " + entries.joined(separator: ",\n  ") + "\n ]")
    }
    let many = try CredentialDocument(decoding: sealed(entries))
    #expect(try many.encoded() == sealed(entries))
    let error = #expect(throws: FormatError.self) {
      try CredentialDocument(decoding: sealed(entries + entries.prefix(1)))
    }
    #expect(error?.code == .tooLarge)
    var more = many
    more[try space(.bearer)] = .token("t")
    let tooMany = more
    #expect(throws: FormatError.self) { try tooMany.encoded() }
    var long = CredentialDocument()
    long[try space(.bearer)] = .token(
      String(repeating: "t", count: CredentialDocument.maximumBytes))
    let tooLong = long
    #expect(throws: FormatError.self) { try tooLong.encoded() }
  }
}
