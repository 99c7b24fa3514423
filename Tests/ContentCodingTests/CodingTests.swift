import Testing

@testable import ContentCoding

struct CodingTests {
  @Test(
    arguments: [
      ("gzip", .gzip), ("x-gzip", .gzip), ("X-GZip", .gzip), ("deflate", .deflate),
      ("DEFLATE", .deflate),
    ] as [(String, Coding)])
  func `a name is known in any case`(name: String, expected: Coding) {
    #expect(Coding(name) == expected)
  }

  @Test(arguments: [
    "br", "identity", "gzip,", "g zip", "gzip;q=1", "gzip\n", "\u{A0}gzip", "x-deflate", "ｇzip",
  ])
  func `any other name is unknown`(name: String) {
    #expect(Coding(name) == nil)
  }
}
