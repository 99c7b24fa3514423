import HTTPSemantics
import Testing

@testable import StoreMigration

struct ObsoleteFieldsTests {
  private static let gzip: [UInt8] = [0x1F, 0x8B, 8]

  private func names(
    _ coding: String?, start: [UInt8], length: UInt64 = 10, stated: Int? = nil,
    expected: Int? = nil,
    method: String = "GET"
  ) -> [String] {
    var fields: HTTPFields = []
    if let coding { fields.append(HTTPField("Content-Encoding", coding)) }
    if let stated { fields.append(HTTPField("Content-Length", "\(stated)")) }
    return ObsoleteFields.names(
      in: fields, method: method, start: start, length: length, expected: expected)
  }

  @Test func `a body that was decoded has neither coding nor the length of the coded one`() {
    #expect(
      names("gzip", start: [0x3C, 0x68], stated: 5) == ["Content-Encoding", "Content-Length"])
    #expect(names("br", start: [1, 2]) == ["Content-Encoding"])
    #expect(names("br", start: Self.gzip) == ["Content-Encoding"], "gzip within br")
    #expect(names("gzip", start: []) == ["Content-Encoding"])
  }

  @Test func `a body that is still coded keeps its fields`() {
    #expect(names("gzip", start: Self.gzip, stated: 10).isEmpty)
    #expect(names("x-GZIP", start: Self.gzip).isEmpty)
    #expect(names(nil, start: Self.gzip, stated: 10).isEmpty)
  }

  @Test func `a gzip file that was sent coded is decoded, by its length`() {
    let both = ["Content-Encoding", "Content-Length"]
    #expect(names("gzip", start: Self.gzip, length: 10, stated: 8, expected: 10) == both)
    #expect(names("gzip", start: Self.gzip, length: 10, stated: 10, expected: 10).isEmpty)
    #expect(names("gzip", start: Self.gzip, length: 10, stated: 8, expected: 30).isEmpty)
    #expect(names("gzip", start: Self.gzip, length: 10, stated: 8, expected: -1).isEmpty)
  }

  @Test(arguments: [nil, -1] as [Int?])
  func `a body of the length that was sent is still coded, unless the archive has a length`(
    expected: Int?
  ) {
    for coding in ["br", "deflate", "zstd", "gzip, br"] {
      #expect(names(coding, start: [0x78, 0x9C], stated: 10, expected: expected).isEmpty)
      #expect(names(coding, start: [0x78, 0x9C], stated: 9, expected: expected).count == 2)
      #expect(names(coding, start: [0x78, 0x9C], stated: 10, expected: 10).count == 2)
    }
    // gzip can be recognised.
    #expect(names("gzip", start: [0x3C, 0x68], stated: 10, expected: expected).count == 2)
  }

  @Test func `Transfer-Encoding never describes what is stored, but for HEAD nothing is obsolete`()
  {
    let fields: HTTPFields = [HTTPField("Transfer-Encoding", "Identity")]
    func names(_ method: String) -> [String] {
      ObsoleteFields.names(in: fields, method: method, start: [], length: 0, expected: nil)
    }
    #expect(names("GET") == ["Transfer-Encoding"] && names("HEAD").isEmpty)
    #expect(self.names("br", start: [1], stated: 5, method: "HEAD").isEmpty)
  }
}
