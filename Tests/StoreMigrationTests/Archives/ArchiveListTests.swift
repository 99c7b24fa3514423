import Testing

@testable import StoreMigration

struct ArchiveListTests {
  private func cause(_ value: PropertyListValue) -> PropertyListError.Cause? {
    do throws(PropertyListError) {
      _ = try ArchiveList(cacheBlob: PropertyListBytes.list(value))
      return nil
    } catch { return error.cause }
  }

  @Test func `a list has a version and objects, and the tokens for nil are nil`() throws {
    let list = try ArchiveList(
      cacheBlob: PropertyListBytes.list(
        .cacheBlob(
          version: 3,
          [
            .string("a"), .string("__CFURLResponseNullTokenString__"),
            .string("__CFURLRequestNullTokenString__"), .integer(7),
          ])))
    #expect(list.version == 3)
    #expect(list.items == [.string("a"), .null, .null, .integer(7)])
  }

  @Test func `what has no version, or no array, is no list`() {
    #expect(cause(.cacheBlob([])) == nil)
    for value in [
      PropertyListValue.null, .array([]), .pairs(("Array", .array([]))),
      .pairs(("Version", .integer(1))), .pairs(("Version", .string("1")), ("Array", .array([]))),
      .pairs(("Version", .integer(1)), ("Array", .string(""))),
      .pairs(("version", .integer(1)), ("array", .array([]))),
      .pairs(("Version", .integer(1 << 100)), ("Array", .array([]))),
    ] { #expect(cause(value) == .wrongType, "\(value)") }
  }

  @Test func `a URL is a text, or the text in the form of Cache_db`() {
    #expect(ArchiveList.url(.string("http://a/")) == "http://a/")
    #expect(ArchiveList.url(.pairs(("_CFURLString", .string("http://b/")))) == "http://b/")
    #expect(ArchiveList.url(.null) == nil && ArchiveList.url(.pairs()) == nil)
    #expect(ArchiveList.url(.pairs(("_CFURLString", .integer(1)))) == nil)
  }
}
