import HTTPSemantics
import Testing

@testable import StoreMigration

struct ArchivedRequestTests {
  private func request(_ items: [PropertyListValue]) -> ArchivedRequest? {
    ArchivedRequest(cacheBlob: PropertyListBytes.list(.cacheBlob(items)))
  }

  private let fields = PropertyListValue.pairs(("Accept", .string("text/html")))

  @Test(arguments: 0...20)
  func `method and fields stand behind the integer 2, wherever that is`(before: Int) {
    let items = Array(repeating: PropertyListValue.null, count: before)
    let found = request(items + [.integer(2), .string("head"), fields, .null])
    #expect(found?.method == "HEAD")
    #expect(found?.fields.map(\.description) == ["Accept: text/html"])
  }

  @Test func `without them it is a GET without fields`() {
    let lists: [[PropertyListValue]] = [
      [], [.integer(2)], [.integer(2), .string("HEAD")], [.integer(2), fields, .string("HEAD")],
      [.integer(3), .string("HEAD"), fields], [.integer(2), .string("A B"), fields],
      [.integer(2), .string(""), fields], [.bool(true), .string("HEAD"), fields],
      [.integer(2), .string(String(repeating: "A", count: 33)), fields],
    ]
    for items in lists {
      let found = request(items)
      #expect(found?.method == "GET" && found?.fields.isEmpty == true, "\(items)")
    }
  }

  @Test func `what is no list is no request`() {
    #expect(ArchivedRequest(cacheBlob: []) == nil)
    #expect(ArchivedRequest(cacheBlob: PropertyListBytes.list(.string("x"))) == nil)
    #expect(ArchivedRequest(keyedArchive: []) == nil)
    let number = PropertyListBytes.archive(root: 1) { _ in [[0x10, 7]] }
    #expect(ArchivedRequest(keyedArchive: number) == nil)
    let none = PropertyListBytes.archive(root: 0) { _ in [] }
    #expect(ArchivedRequest(keyedArchive: none) == nil)
  }
}
