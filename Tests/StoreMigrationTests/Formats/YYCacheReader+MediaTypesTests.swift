import HTTPSemantics
import Testing

@testable import StoreMigration

struct YYCacheReaderMediaTypesTests {
  @Test(arguments: [
    ("http://a/b.PNG?c.css#d", [UInt8](), "image/png"),
    ("http://a/b.css", [0xFF, 0xD8, 0xFF], "text/css"),
    ("http://a/b", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1], "image/png"),
    ("http://a/b.unknown", [0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"),
    ("http://a/", Array("GIF89a".utf8), "image/gif"),
  ])
  func `the extension says the type, or else the first bytes`(
    url: String, start: [UInt8], type: String
  ) {
    #expect(MediaTypes.guess(url: url, start: start) == type)
  }

  @Test(arguments: [
    ("http://a.css/", [UInt8]()), ("http://a/b.css/c", []), ("http://a/", [0x89, 0x50]),
    ("http://a/?b.css", [0xFF, 0xD8]), ("", []), ("http://a/b.", []),
  ])
  func `what neither says has no type`(url: String, start: [UInt8]) {
    #expect(MediaTypes.guess(url: url, start: start) == nil)
  }
}
