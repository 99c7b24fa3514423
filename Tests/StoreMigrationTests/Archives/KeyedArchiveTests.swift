import Testing

@testable import StoreMigration

struct KeyedArchiveTests {
  @Test func `plain strings, numbers and nil are roots`() throws {
    #expect(
      try KeyedArchive.value(PropertyListBytes.archive(root: 1) { _ in [[0x52, 0x68, 0x69]] })
        == .string("hi"))
    #expect(
      try KeyedArchive.value(PropertyListBytes.archive(root: 1) { _ in [[0x10, 7]] }) == .integer(7)
    )
    #expect(try KeyedArchive(PropertyListBytes.archive(root: 0) { _ in [] }).root == nil)
  }

  @Test func `UIDs beyond the objects, and UIDs of UIDs, are refused`() {
    #expect(
      KeyedArchive.cause(PropertyListBytes.archive(root: 5) { _ in [[0x10, 7]] }) == .outside)
    #expect(
      KeyedArchive.cause(PropertyListBytes.archive(root: 1) { _ in [[0x80, 1]] }) == .wrongType)
  }

  @Test func `a property list that is no archive is refused`() {
    var list = PropertyListBytes()
    let root = list.add("x")
    #expect(KeyedArchive.cause(list.finished(root: root)) == .wrongType)
  }

  @Test func `cut anywhere, or with any bit flipped, it is a value or an error`() {
    let whole = PropertyListBytes.object("NSMutableData", "NS.data", [0x41, 9])
    for count in whole.indices { #expect(KeyedArchive.cause(Array(whole[..<count])) != nil) }
    var refused = 0
    for index in whole.indices {
      for bit in 0..<8 {
        var bytes = whole
        bytes[index] ^= 1 << bit
        if KeyedArchive.cause(bytes) != nil { refused += 1 }
      }
    }
    #expect(refused > 0)
  }
}
