import CacheFormat
import Testing

@testable import StoreMigration

struct BinaryPropertyListObjectsTests {
  @Test(
    arguments: [
      ([0x00], PropertyListValue.null), ([0x08], .bool(false)), ([0x09], .bool(true)),
      ([0x10, 0xff], .integer(255)), ([0x11, 0xff, 0xfe], .integer(65_534)),
      ([0x12, 0xff, 0xff, 0xff, 0xff], .integer(4_294_967_295)),
      ([0x13, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], .integer(-1)),
      (
        [0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        .integer(18_446_744_073_709_551_615)
      ),
      ([0x22, 0x3f, 0xc0, 0, 0], .real(1.5)), ([0x23, 0x40, 0x04, 0, 0, 0, 0, 0, 0], .real(2.5)),
      (
        [0x33, 0x41, 0x20, 0, 0, 0, 0, 0, 0],
        .date(Timestamp(nanoseconds: (978_307_200 + 524_288) * 1_000_000_000))
      ),
      ([0x42, 1, 2], .data([1, 2])), ([0x52, 0x68, 0x69], .string("hi")),
      ([0x62, 0x00, 0xe4, 0x20, 0xac], .string("ä€")),
      ([0x62, 0xd8, 0x3d, 0xde, 0x00], .string("😀")),
      // An unpaired surrogate.
      ([0x61, 0xd8, 0x3d], .string("\u{fffd}")),
      ([0x4f, 0x10, 0x03, 7, 8, 9], .data([7, 8, 9])),
      ([0xa0], .array([])), ([0xc0], .array([])), ([0xd0], .dictionary([])),
    ] as [([UInt8], PropertyListValue)])
  func `an object is read`(object: [UInt8], value: PropertyListValue) throws {
    #expect(try PropertyListValue(binary: PropertyListBytes.single(object)) == value)
  }

  @Test func `a date that is no number is malformed`() {
    #expect(
      PropertyListBytes.cause(PropertyListBytes.single([0x33, 0x7f, 0xf8, 0, 0, 0, 0, 0, 1]))
        == .badObject)
  }

  @Test(
    arguments: [
      [0x01], [0x0f], [0x15] + [UInt8](repeating: 0, count: 40), [0x21, 0, 0], [0x30, 0], [0x70],
      [0x90], [0xe0], [0xf0], [0x42, 1], [0x62, 0, 0x41, 0],
      // Counts of 4 GB, of 2^63 - 1, negative ones, counts that are no integer.
      [0x4f, 0x12, 0xff, 0xff, 0xff, 0xff], [0x5f, 0x13, 0x7f] + [UInt8](repeating: 255, count: 7),
      [0x6f, 0x13] + [UInt8](repeating: 255, count: 8), [0xaf, 0x12, 0xff, 0xff, 0xff, 0xff],
      [0xdf, 0x13, 0x40] + [UInt8](repeating: 0, count: 7), [0xaf, 0x50],
      [0x4f, 0x14, 0x7f] + [UInt8](repeating: 255, count: 15), [0x88, 1],
    ] as [[UInt8]])
  func `a malformed object is refused`(object: [UInt8]) {
    #expect(PropertyListBytes.cause(PropertyListBytes.single(object)) == .badObject)
  }

  @Test func `a UID stands for nothing outside of an archive`() {
    #expect(PropertyListBytes.cause(PropertyListBytes.single([0x80, 0])) == .wrongType)
  }

  @Test func `a reference behind the last object leads outside`() {
    #expect(PropertyListBytes.cause(PropertyListBytes.single([0xa1, 1])) == .outside)
  }

  @Test func `a text is compared byte by byte, whatever its length`() throws {
    let texts = ["", "a", "$class", "$classname", "NS.objects", "NS.object\u{301}"]
    for text in texts {
      var list = PropertyListBytes()
      let root = list.add(text)
      let bytes = try BinaryPropertyList(list.finished(root: root))
      guard case .ascii(let range) = try bytes.object(bytes.root) else {
        Issue.record("\(text) is no string")
        continue
      }
      #expect(texts.filter { bytes.isText(range, $0) } == [text])
    }
  }

  @Test func `an element is found by its place, and leads outside by none`() throws {
    var list = PropertyListBytes()
    let (one, two) = (list.add([0x10, 1]), list.add([0x10, 2]))
    let array = list.add([0xa3, two, one, 9])
    let bytes = try BinaryPropertyList(list.finished(root: array))
    guard case .array(let places) = try bytes.object(bytes.root) else {
      Issue.record("it is no array")
      return
    }
    #expect(places.count == 3)
    #expect(
      try bytes.element(0, of: places) == Int(two) && bytes.element(1, of: places) == Int(one))
    #expect(throws: PropertyListError.self) { try bytes.element(2, of: places) }
    for number in [-1, 3, .max, .min] {
      #expect(throws: PropertyListError.self) { try bytes.object(number) }
    }
  }
}
