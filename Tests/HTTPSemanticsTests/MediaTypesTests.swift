import HTTPSemantics
import Testing

struct MediaTypesTests {
  @Test(arguments: [
    ("a/b.html", "text/html; charset=utf-8"), ("B.JPEG", "image/jpeg"),
    ("x.tar.gz", "application/gzip"),
    ("a.b/c", MediaTypes.unknown), ("a.", MediaTypes.unknown),
    ("a.doesnotexist", MediaTypes.unknown),
    ("data.json", "application/json"), ("i.svg", "image/svg+xml"),
    ("m.mjs", "text/javascript; charset=utf-8"),
  ])
  func `the extension of a name decides the media type`(name: String, type: String) {
    #expect(MediaTypes.type(ofFile: name) == type)
  }
}
