import HTTPSemantics
import HTTPTransports
import Testing

@Suite struct HTTPFieldsDecodedTests {
  @Test func `what holds for the coded bytes alone goes, however it is spelled`() {
    var fields: HTTPFields = [
      HTTPField("content-ENCODING", "gzip"), HTTPField("Content-Length", "5"),
      HTTPField("Content-Type", "text/plain"), HTTPField("Content-Encoding", "br"),
      HTTPField("Content-MD5", "x"), HTTPField("content-digest", "x"), HTTPField("Digest", "x"),
      HTTPField("Repr-Digest", "x"), HTTPField("Accept-Ranges", "bytes"),
      HTTPField("Last-Modified", "x"), HTTPField("Content-Encodings", "x"),
    ]
    fields.markDecoded()
    #expect(fields.map(\.name) == ["Content-Type", "Last-Modified", "Content-Encodings"])
  }

  @Test(
    arguments: [
      ("\"1\"", "W/\"1\""), ("\"\"", "W/\"\""), ("W/\"1\"", "W/\"1\""), ("1", "1"), ("", ""),
    ])
  func `a strong tag becomes weak, any other stays`(tag: String, expected: String) {
    var fields: HTTPFields = [HTTPField("etag", tag)]
    for _ in 0..<2 {
      fields.markDecoded()
      #expect(fields.map(\.text) == [expected])
    }
  }

  @Test func `no strong tag is left where a server has sent several`() {
    var fields: HTTPFields = [HTTPField("ETag", "W/\"1\""), HTTPField("ETag", "\"2\"")]
    fields.markDecoded()
    #expect(fields.allSatisfy { !$0.text.hasPrefix("\"") })
  }
}
