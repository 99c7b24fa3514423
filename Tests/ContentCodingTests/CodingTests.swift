import Testing

@testable import ContentCoding

struct CodingTests {
  @Test(
    arguments: [
      ("gzip", .gzip), ("x-gzip", .gzip), (" \tX-GZip\t ", .gzip), ("deflate", .deflate),
      ("DEFLATE", .deflate), ("identity", .identity), ("", .identity), (" \t", .identity),
    ] as [(String, Coding)])
  func `a name is known in any case and between white space`(name: String, expected: Coding) {
    #expect(Coding(name) == expected)
  }

  @Test(arguments: [
    "br", "gzip,", "g zip", "gzip;q=1", "gzip\n", "\u{A0}gzip", "x-deflate", "ｇzip",
  ])
  func `any other name is unknown`(name: String) {
    #expect(Coding(name) == nil)
  }
}
