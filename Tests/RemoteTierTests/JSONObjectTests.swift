import CacheFormat
import Testing

@testable import RemoteTier

struct JSONObjectTests {
  private func code(_ text: String) -> FormatError.Code? {
    do throws(FormatError) {
      try JSONObject.read(Array(text.utf8)) { (reader, _) throws(FormatError) in
        try reader.skipValue()
      }
      return nil
    } catch { return error.code }
  }

  private func members(_ count: Int) -> String {
    "{" + (0..<count).map { "\"m\($0)\":0" }.joined(separator: ",") + "}"
  }

  @Test func `an object with 1 to 63 members is read`() {
    for count in [1, 2, 63] { #expect(code(members(count)) == nil, "\(count)") }
    #expect(code(members(64)) == .notJSON && code(members(65)) == .notJSON)
  }

  @Test(arguments: [
    "", "{}", "[]", "null", "1", "{\"checksum\":\"\"}", "{\"a\":1,\"checksum\":1}",
    "{\"a\":1,\"a\":2}", "{\"a\":1} {}", "{\"a\":\"\u{1}\"}", "{\"a\":01}",
  ])
  func `anything else is refused`(text: String) {
    #expect(code(text) != nil)
  }

  @Test func `a member with that name within another object is read`() {
    #expect(code("{\"a\":{\"checksum\":1}}") == nil)
  }

  @Test func `the version is 1, and a later one is told from what is none`() throws {
    func version(_ text: String) -> FormatError.Code? {
      do throws(FormatError) {
        try JSONObject.read(Array("{\"version\":\(text)}".utf8)) {
          (reader, _) throws(FormatError) in
          try JSONObject.checkVersion(&reader)
        }
        return nil
      } catch { return error.code }
    }
    #expect(version("1") == nil)
    #expect(version("2") == .newerFormat && version("0") == .newerFormat)
    #expect(version("\"1\"") == .wrongType && version("-1") == .wrongType)
  }
}
