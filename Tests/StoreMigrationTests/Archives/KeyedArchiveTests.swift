import Testing

@testable import StoreMigration

private func value(_ bytes: [UInt8]) throws(PropertyListError) -> PropertyListValue {
  let archive = try KeyedArchive(bytes)
  guard let root = archive.root else { return .null }
  var budget = PropertyListBudget()
  return try archive.value(root, &budget)
}

private func cause(_ bytes: [UInt8]) -> PropertyListError.Cause? {
  do throws(PropertyListError) {
    _ = try value(bytes)
    return nil
  } catch { return error.cause }
}

/// An object of a class: `$class` and one more member. `first` is the number of its own bytes.
private func object(_ name: String, _ key: String, _ member: [UInt8]) -> [UInt8] {
  PropertyListBytes.archive(root: 1) { first in
    let ascii = { (text: String) in [0x50 | UInt8(text.utf8.count)] + Array(text.utf8) }
    return [
      [0xd2, first + 1, first + 2, first + 3, first + 4],
      ascii("$class"), ascii(key), [0x80, 6], member,
      [0xd1, first + 6, first + 7], ascii("$classname"), ascii(name),
    ]
  }
}

struct KeyedArchiveTests {
  @Test func `plain strings, numbers and nil are roots`() throws {
    #expect(
      try value(PropertyListBytes.archive(root: 1) { _ in [[0x52, 0x68, 0x69]] }) == .string("hi"))
    #expect(try value(PropertyListBytes.archive(root: 1) { _ in [[0x10, 7]] }) == .integer(7))
    #expect(try KeyedArchive(PropertyListBytes.archive(root: 0) { _ in [] }).root == nil)
  }

  @Test func `objects of Foundation's value classes are read`() throws {
    #expect(try value(object("NSMutableData", "NS.data", [0x41, 9])) == .data([9]))
    #expect(try value(object("NSString", "NS.string", [0x61, 0, 0xe4])) == .string("ä"))
    #expect(try value(object("NSURL", "NS.relative", [0x53, 0x61, 0x3a, 0x62])) == .string("a:b"))
    #expect(try value(object("NSSet", "NS.objects", [0xa0])) == .array([]))
  }

  @Test func `an unknown class is no value`() {
    #expect(cause(object("BattleDroid", "NS.data", [0x41, 9])) == .wrongType)
    #expect(cause(object("NSData", "NS.string", [0x41, 9])) == .wrongType)
  }

  @Test func `an array that holds itself ends at the depth`() {
    // The member is an array with the UID of the object.
    let bytes = PropertyListBytes.archive(root: 1) { first in
      let ascii = { (text: String) in [0x50 | UInt8(text.utf8.count)] + Array(text.utf8) }
      return [
        [0xd2, first + 1, first + 2, first + 3, first + 4],
        ascii("$class"), ascii("NS.objects"), [0x80, 6], [0xa1, first + 8],
        [0xd1, first + 6, first + 7], ascii("$classname"), ascii("NSArray"), [0x80, 1],
      ]
    }
    #expect(cause(bytes) == .tooDeep)
  }

  @Test func `a URL that is its own base ends at the depth`() {
    let bytes = PropertyListBytes.archive(root: 1) { first in
      let ascii = { (text: String) in [0x50 | UInt8(text.utf8.count)] + Array(text.utf8) }
      return [
        [0xd3, first + 1, first + 2, first + 8, first + 3, first + 4, first + 9],
        ascii("$class"), ascii("NS.relative"), [0x80, 6], [0x51, 0x61],
        [0xd1, first + 6, first + 7], ascii("$classname"), ascii("NSURL"),
        ascii("NS.base"), [0x80, 1],
      ]
    }
    #expect(cause(bytes) == .tooDeep)
  }

  @Test func `UIDs beyond the objects, and UIDs of UIDs, are refused`() {
    #expect(cause(PropertyListBytes.archive(root: 5) { _ in [[0x10, 7]] }) == .outside)
    #expect(cause(PropertyListBytes.archive(root: 1) { _ in [[0x80, 1]] }) == .wrongType)
  }

  @Test func `a property list that is no archive is refused`() {
    var list = PropertyListBytes()
    let root = list.add("x")
    #expect(cause(list.finished(root: root)) == .wrongType)
  }

  @Test func `cut anywhere, or with any bit flipped, it is a value or an error`() {
    let whole = object("NSMutableData", "NS.data", [0x41, 9])
    for count in whole.indices { #expect(cause(Array(whole[..<count])) != nil) }
    var refused = 0
    for index in whole.indices {
      for bit in 0..<8 {
        var bytes = whole
        bytes[index] ^= 1 << bit
        if cause(bytes) != nil { refused += 1 }
      }
    }
    #expect(refused > 0)
  }
}
