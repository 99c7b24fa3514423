import CacheFormat
import Testing

@testable import StoreMigration

struct BinaryPropertyListTests {
  @Test func `containers keep the order of the file, sets are arrays`() throws {
    var list = PropertyListBytes()
    let b = list.add("b")
    let a = list.add("a")
    let set = list.add([0xc2, b, a])
    let root = list.add([0xd2, b, a, set, b])
    let value = try PropertyListValue(binary: list.finished(root: root))
    #expect(
      value
        == .dictionary([
          PropertyListPair(key: .string("b"), value: .array([.string("b"), .string("a")])),
          PropertyListPair(key: .string("a"), value: .string("b")),
        ]))
  }

  @Test func `a cycle ends at the depth`() {
    #expect(PropertyListBytes.cause(PropertyListBytes.single([0xa1, 0])) == .tooDeep)
    #expect(PropertyListBytes.cause(PropertyListBytes.single([0xd1, 0, 0])) == .tooDeep)
  }

  @Test func `31 arrays in one another are read, 33 are not`() throws {
    func nested(_ depth: Int) -> [UInt8] {
      var list = PropertyListBytes()
      var inner = list.add("x")
      for _ in 0..<depth { inner = list.add([0xa1, inner]) }
      return list.finished(root: inner)
    }
    #expect(PropertyListBytes.cause(nested(31)) == nil)
    #expect(PropertyListBytes.cause(nested(33)) == .tooDeep)
  }

  @Test func `what refers to the same object a billion times ends at the count`() {
    var list = PropertyListBytes()
    var inner = list.add("lol")
    for _ in 0..<20 { inner = list.add([0xae] + [UInt8](repeating: inner, count: 14)) }
    #expect(PropertyListBytes.cause(list.finished(root: inner)) == .tooMuch)
  }

  @Test func `what copies the same bytes again and again ends at the bytes`() {
    var list = PropertyListBytes()
    let data = list.add([0x4f, 0x11, 0x70, 0x00] + [UInt8](repeating: 1, count: 0x7000))
    var inner = data
    for _ in 0..<3 { inner = list.add([0xae] + [UInt8](repeating: inner, count: 14)) }
    #expect(PropertyListBytes.cause(list.finished(root: inner)) == .tooMuch)
  }

  @Test func `keys in keys do not double the JSON with each`() throws {
    var list = PropertyListBytes()
    let value = list.add("x")
    var key = value
    for _ in 0..<20 { key = list.add([0xd1, key, value]) }
    let array = list.add([0xa1, value])
    let root = list.add([0xd2, key, array, value, value])
    let json = try PropertyListValue(binary: list.finished(root: root)).json
    #expect(json == #"{"{}":"x","[]":"x"}"#)
  }

  @Test func `no name occurs twice in an object of JSON`() throws {
    var list = PropertyListBytes()
    let (text, number) = (list.add("1"), list.add([0x10, 1]))
    let (other, empty) = (list.add("1 (2)"), list.add([0xa0]))
    let keys = [text, number, other, text, empty, empty]
    let root = list.add([0xd6] + keys + [UInt8](repeating: text, count: keys.count))
    let json = try PropertyListValue(binary: list.finished(root: root)).json
    let names = ["1", "1 (2)", "1 (2) (2)", "1 (3)", "[]", "[] (2)"]
    #expect(json == "{" + names.map { #""\#($0)":"1""# }.joined(separator: ",") + "}")
  }

  @Test func `a trailer that does not fit is refused`() {
    var list = PropertyListBytes()
    let root = list.add("x")
    #expect(PropertyListBytes.cause(list.finished(root: 1)) == .badTrailer)
    #expect(PropertyListBytes.cause(list.finished(root: root, count: 0)) == .badTrailer)
    #expect(PropertyListBytes.cause(list.finished(root: root, count: 2)) == .badTrailer)
    #expect(PropertyListBytes.cause(list.finished(root: root, count: .max)) == .badTrailer)
    #expect(PropertyListBytes.cause(list.finished(root: root, table: .max)) == .badTrailer)
    #expect(PropertyListBytes.cause(list.finished(root: root, table: 0)) == .badTrailer)
    for size in [6, 7] {
      var bytes = list.finished(root: root)
      for wrong in [0, 9, 255] as [UInt8] {
        bytes[bytes.count - 32 + size] = wrong
        #expect(PropertyListBytes.cause(bytes) == .badTrailer)
      }
    }
  }

  @Test func `more than 16 MiB and less than a trailer are no lists`() {
    #expect(PropertyListBytes.cause([]) == .notBinary)
    #expect(PropertyListBytes.cause(Array("bplist00".utf8)) == .notBinary)
    #expect(PropertyListBytes.cause([UInt8](repeating: 0, count: 100)) == .notBinary)
    let big = Array("bplist00".utf8) + [UInt8](repeating: 0, count: 16 << 20)
    #expect(PropertyListBytes.cause(big) == .tooMuch)
  }

  /// A list with everything in it.
  private static let everything: [UInt8] = {
    var list = PropertyListBytes()
    let objects: [[UInt8]] = [
      [0x09], [0x13, 0x80, 0, 0, 0, 0, 0, 0, 1], [0x23, 0x40, 0x04, 0, 0, 0, 0, 0, 0],
      [0x33, 0x41, 0x20, 0, 0, 0, 0, 0, 0], [0x42, 1, 2], [0x61, 0, 0xe4],
    ]
    let numbers = objects.map { list.add($0) }
    let text = list.add("a string that is longer than fifteen bytes")
    let array = list.add([0xa6] + numbers)
    let set = list.add([0xc1, array])
    let root = list.add([0xd2, text, numbers[5], array, set])
    return list.finished(root: root)
  }()

  @Test func `cut anywhere it is an error`() throws {
    #expect(PropertyListBytes.cause(Self.everything) == nil)
    for count in 0..<Self.everything.count {
      #expect(PropertyListBytes.cause(Array(Self.everything[..<count])) != nil, "\(count) bytes")
    }
  }

  @Test func `with any bit flipped it is a value or an error`() {
    var values = 0
    for index in Self.everything.indices {
      for bit in 0..<8 {
        var bytes = Self.everything
        bytes[index] ^= 1 << bit
        if PropertyListBytes.cause(bytes) == nil { values += 1 }
      }
    }
    // Most bits are those of content, or of padding in the trailer.
    #expect(values > 0 && values < Self.everything.count * 8)
  }
}
