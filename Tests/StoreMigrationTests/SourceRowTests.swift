import CacheFormat
import HTTPSemantics
import Testing

@testable import StoreMigration

struct SourceRowTests {
  private func entry(_ url: String, _ fields: HTTPFields = []) -> SourceEntry {
    SourceEntry(
      url: url, status: 200, fields: fields, body: SourceBody(place: .bytes([]), length: 12))
  }

  @Test func `credentials in a URL select like those in a field`() {
    var entry = entry("http://u:p@a/")
    #expect(entry.selectingFields.map(\.description) == ["Authorization: Basic dTpw"])
    entry.requestFields = [HTTPField("Accept", "x")]
    #expect(entry.selectingFields.count == 2)
    entry.requestFields = [HTTPField("authorization", "Bearer x")]
    #expect(entry.selectingFields.map(\.description) == ["authorization: Bearer x"])
    #expect(self.entry("http://a/").selectingFields.isEmpty)
    #expect(self.entry("http://a/@b").selectingFields.isEmpty, "a path is no user")
  }

  @Test func `fields that are obsolete are not stored, and the length is that of the body`() {
    var entry = entry(
      "http://a/",
      [
        HTTPField("content-encoding", "gzip"), HTTPField("Content-Length", "5"),
        HTTPField("A", "b"),
      ])
    #expect(entry.storedFields == entry.fields)
    entry.obsoleteFields = ["Content-Encoding", "Content-Length"]
    #expect(entry.storedFields.map(\.description) == ["A: b", "Content-Length: 12"])
    entry.obsoleteFields = ["Content-Encoding"]
    #expect(entry.storedFields.map(\.description) == ["Content-Length: 5", "A: b"])
  }
}
