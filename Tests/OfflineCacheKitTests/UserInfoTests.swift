import Testing

@testable import OfflineCacheKit

@Suite struct UserInfoTests {
  /// Nests a value in arrays and dictionaries.
  private func nested(_ depth: Int) -> Any {
    var value: Any = "x"
    for level in 0..<depth { value = level % 2 == 0 ? [value] : ["k": value] }
    return value
  }

  @Test func `what a property list can have is kept as it was`() throws {
    let date = Date(timeIntervalSinceReferenceDate: 1.5)
    let info: [String: Any] = [
      "": "", "text": "ü\u{0}😀", "data": Data([0, 255]), "none": Data(), "date": date,
      "int": Int.min, "byte": Int8(-1), "double": 0.1, "infinite": Double.infinity, "yes": true,
      "list": [1, "a", [Any]()] as [Any], "table": ["k": ["l": 1]], "empty": [String: Any](),
    ]
    let (fields, lost) = UserInfo.encode(info)
    #expect(lost.isEmpty && fields.count == 1)
    let read = try #require(UserInfo.decode(fields))
    #expect(read.count == info.count)
    #expect(NSDictionary(dictionary: read) == NSDictionary(dictionary: info))
  }

  @Test func `nothing at all needs no field`() {
    for info in [nil, [:]] as [[AnyHashable: Any]?] {
      let (fields, lost) = UserInfo.encode(info)
      #expect(fields.isEmpty && lost.isEmpty)
    }
    #expect(UserInfo.decode([]) == nil)
    #expect(UserInfo.decode([Field("other", "x")]) == nil)
  }

  @Test func `what cannot be written is named, and the rest is kept`() throws {
    final class Own {}
    let bad: [String: Any] = [
      "object": Own(), "null": NSNull(), "url": URL(fileURLWithPath: "/") as Any,
      "keys": [1: "a"], "inside": [["a": Own()]], "optional": Int?.none as Any,
      "deep": nested(64),
    ]
    for (key, value) in bad {
      let (fields, lost) = UserInfo.encode([key: value, "good": 1])
      #expect(lost == [AnyHashable(key)], "\(key)")
      #expect(UserInfo.decode(fields)?.count == 1, "\(key)")
    }
    let (fields, lost) = UserInfo.encode([7: "a", "good": 1, UUID(): 1])
    #expect(lost.count == 2 && UserInfo.decode(fields)?["good"] as? Int == 1)
  }

  @Test func `the deepest value that is kept comes back`() throws {
    let (fields, lost) = UserInfo.encode(["deep": nested(63)])
    #expect(lost.isEmpty)
    #expect(UserInfo.decode(fields)?["deep"] != nil)
  }

  @Test(arguments: [UInt64.max, UInt64(Int64.max) + 1])
  func `numbers beyond Int are kept, or named, and never changed`(number: UInt64) {
    let (fields, lost) = UserInfo.encode(["n": number])
    #expect(lost == ["n"] || UserInfo.decode(fields)?["n"] as? UInt64 == number)
  }

  @Test func `bytes that are no property list of this kind are none`() throws {
    let (fields, _) = UserInfo.encode(["a": [1, 2, 3], "b": "text"])
    let field = try #require(fields.first)
    let bytes = field.value.bytes
    for end in 0..<bytes.count {
      #expect(UserInfo.decode([Field(field.name, ByteString(bytes: Array(bytes[..<end])))]) == nil)
    }
    for place in bytes.indices {
      var damaged = bytes
      damaged[place] ^= 0xFF
      // It may be read as something else, but never crashes.
      _ = UserInfo.decode([Field(field.name, ByteString(bytes: damaged))])
    }
    for text in ["[1]", "<plist><array/></plist>", "\"a\"", ""] {
      #expect(UserInfo.decode([Field(field.name, ByteString(text))]) == nil, "\(text)")
    }
  }
}
